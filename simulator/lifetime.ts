import { fstatSync } from 'node:fs';

const PARENT_CHECK_INTERVAL_MS = 500;

/** Calls `end` once: on a signal, or when the parent process is gone. */
export function onEndOfLife(end: () => void): void {
  let hasEnded = false;
  const once = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    end();
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, once);
  if (process.channel) process.on('disconnect', once);
  if (isPipe(0)) process.stdin.on('end', once).on('error', once).resume();
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) once();
  }, PARENT_CHECK_INTERVAL_MS).unref();
}

/** Only a pipe reports that its other end closed; a terminal or /dev/null does not. */
function isPipe(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    return false;
  }
}
