import { readFileSync } from 'node:fs';

/**
 * Preloaded into a process. After each SIGUSR2, every date is shifted by the milliseconds in the file; durations
 * (`performance.now()`, timers) are unaffected, as when an operator sets the clock.
 */
const RealDate = Date;
let shiftMs = 0;
const now = (): number => RealDate.now() + shiftMs;

globalThis.Date = new Proxy(RealDate, {
  apply: (Real) => new Real(now()).toString(),
  construct: (Real, args: unknown[], newTarget) =>
    Reflect.construct(Real, args.length === 0 ? [now()] : args, newTarget) as Date,
  get: (Real, name) => (name === 'now' ? now : (Reflect.get(Real, name) as unknown)),
});

process.on('SIGUSR2', () => {
  shiftMs = Number(readFileSync(process.env['CLOCK_SHIFT_FILE'] ?? '', 'utf8'));
  process.stderr.write(`the clock reads ${new Date().toISOString()}, shifted by ${shiftMs} ms\n`);
});
