import { readFileSync } from 'node:fs';

/**
 * Loaded into a process before its program. From the next SIGUSR2 on, every date is shifted by the milliseconds in
 * the file. Durations (`performance.now()`, timers) are unaffected, as when an operator sets the machine's clock.
 */
const RealDate = Date;
let shiftMs = 0;
const now = (): number => RealDate.now() + shiftMs;

globalThis.Date = new Proxy(RealDate, {
  apply: (Real) => new Real(now()).toString(),
  construct: (Real, given: unknown[], asked) =>
    Reflect.construct(Real, given.length === 0 ? [now()] : given, asked) as Date,
  get: (Real, name) => (name === 'now' ? now : (Reflect.get(Real, name) as unknown)),
});

process.on('SIGUSR2', () => {
  shiftMs = Number(readFileSync(process.env['CLOCK_SHIFT_FILE'] ?? '', 'utf8'));
  process.stderr.write(`the clock reads ${new Date().toISOString()}, shifted by ${shiftMs} ms\n`);
});
