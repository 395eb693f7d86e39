/**
 * Loaded into a service before its program. Between two SIGUSR2 it measures the longest turn of the event
 * loop, and then tells it. It takes the processor time of its thread, which other programs do not lengthen.
 */
let watching = false;
let longestMicroseconds = 0;

function used(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

function watch(before: number): void {
  if (!watching) return;
  const now = used();
  longestMicroseconds = Math.max(longestMicroseconds, now - before);
  setImmediate(watch, now);
}

let rounds = 0;
process.on('SIGUSR2', () => {
  watching = !watching;
  if (watching) {
    longestMicroseconds = 0;
    setImmediate(() => watch(used()));
    process.stderr.write(`turns ${(rounds += 1)}: watched\n`);
  } else process.stderr.write(`turns ${rounds}: ${longestMicroseconds} µs\n`);
});
