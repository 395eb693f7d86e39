import { readdirSync, readFileSync } from 'node:fs';

/** CPU time of all threads of a process so far, in microseconds, as the scheduler counts it. */
export function cpuUsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, thread) => sum + nanosecondsOf(pid, thread), 0) / 1_000;
}

/** The same for a process and everything it has started. */
export function familyCpuUsOf(pid: number): number {
  const family = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOf(name, pid));
  return family.reduce((sum, member) => sum + cpuUsOf(Number(member)), 0);
}

function isOf(name: string, pid: number): boolean {
  if (name === String(pid)) return true;
  try {
    // Behind the name in brackets: the state, then the parent.
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
    // A thread may end between the two looks.
    return 0;
  }
}
