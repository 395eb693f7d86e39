import { readFileSync } from 'node:fs';

/**
 * Loaded into a process before its program: from the next SIGUSR2 on, every date it asks for is shifted by as many
 * milliseconds as stand in the file. Durations (`performance.now()`, timers) go on as ever, as they would if an
 * operator or a time server set the machine's clock.
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
