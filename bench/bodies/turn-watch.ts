/**
 * Preloaded into a service. Between two SIGUSR2 signals, measures and reports the longest event-loop turn as CPU time
 * of its thread, unaffected by other processes.
 */
let isWatching = false;
let longestMicroseconds = 0;

function threadCpuMicroseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

function watch(before: number): void {
  if (!isWatching) return;
  const now = threadCpuMicroseconds();
  longestMicroseconds = Math.max(longestMicroseconds, now - before);
  setImmediate(watch, now);
}

let rounds = 0;
process.on('SIGUSR2', () => {
  isWatching = !isWatching;
  if (isWatching) {
    longestMicroseconds = 0;
    setImmediate(() => watch(threadCpuMicroseconds()));
    process.stderr.write(`turns ${(rounds += 1)}: watched\n`);
  } else process.stderr.write(`turns ${rounds}: ${longestMicroseconds} µs\n`);
});
