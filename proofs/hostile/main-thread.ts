import { readFileSync } from 'node:fs';

const NS_PER_MS = 1_000_000;

/** CPU time of the process's main thread; the other threads do not delay callers. */
export function mainThreadMs(pid: number): number {
  const [ns = ''] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(ns) / NS_PER_MS;
}
