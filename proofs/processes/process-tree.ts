import { readdirSync, readFileSync } from 'node:fs';

/** Child processes of a process, oldest first. */
export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

export const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;

/** CPU time of a process and its descendants, including all threads, in microseconds. */
export const processTreeCpuUs = (pid: number): number =>
  [pid, ...childrenOf(pid)].reduce((sum, member) => sum + cpuUsOf(member), 0);

function cpuUsOf(pid: number): number {
  const times = readdirSync(`/proc/${pid}/task`).map((thread) => {
    try {
      return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // A thread might end between the two reads.
      return 0;
    }
  });
  return times.reduce((sum, time) => sum + time, 0) / 1_000;
}
