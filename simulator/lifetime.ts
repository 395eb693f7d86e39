import { fstatSync } from 'node:fs';

const parentCheckMs = 500;

/** Calls `end` once: on a signal, or when the process that started this one is gone. */
export function onEndOfLife(end: () => void): void {
  let ended = false;
  const once = (): void => {
    if (ended) return;
    ended = true;
    end();
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, once);
  if (process.channel) process.on('disconnect', once);
  if (isPipe(0)) process.stdin.on('end', once).on('error', once).resume();
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) once();
  }, parentCheckMs).unref();
}

/** Only a pipe tells of its other end; a terminal or /dev/null says nothing. */
function isPipe(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    return false;
  }
}
