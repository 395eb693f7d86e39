import { readdirSync, readFileSync } from 'node:fs';

/** CPU time of all threads of a process in microseconds, as the scheduler counts it. */
export function cpuUsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, thread) => sum + nanosecondsOf(pid, thread), 0) / 1_000;
}

/** CPU time of a process and all its descendants. */
export function processTreeCpuUs(pid: number): number {
  const family = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isDescendantOf(name, pid));
  return family.reduce((sum, member) => sum + cpuUsOf(Number(member)), 0);
}

function isDescendantOf(name: string, pid: number): boolean {
  if (name === String(pid)) return true;
  try {
    // Fields after the name in brackets: the state, then the parent's pid.
    const [, parent] = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return parent === String(pid);
  } catch {
    return false;
  }
}

function nanosecondsOf(pid: number, thread: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    // A thread may end between listing and reading.
    return 0;
  }
}
