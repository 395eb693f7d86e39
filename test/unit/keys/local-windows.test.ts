import fc from 'fast-check';
import { LocalWindows } from '../../../src/keys/rate/local-windows';

const MINUTE = 60_000;

/** Moments at which calls come: bursts, trickles and long silences. */
const arrivals = fc
  .array(
    fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 500 }),
      fc.integer({ min: 500, max: 20_000 }),
      fc.constantFrom(MINUTE - 1, MINUTE, MINUTE + 1),
    ),
    { minLength: 1, maxLength: 300 },
  )
  .map((gaps) => {
    let now = 1_000;
    return gaps.map((gap) => (now += gap));
  });

const limits = fc.integer({ min: 1, max: 40 });

function run(moments: readonly number[], limit: number): { allowed: number[]; refused: [number, number][] } {
  const windows = new LocalWindows();
  const allowed: number[] = [];
  const refused: [number, number][] = [];
  for (const now of moments) {
    const reading = windows.take({ key: 'k', limit, windowMs: MINUTE }, now);
    if (reading.allowed) allowed.push(now);
    else refused.push([now, reading.retryMs]);
  }
  return { allowed, refused };
}

test('never more than the limit start in any minute, wherever it begins', () => {
  fc.assert(
    fc.property(arrivals, limits, (moments, limit) => {
      const { allowed } = run(moments, limit);
      for (const [place, start] of allowed.entries()) {
        const next = allowed[place + limit];
        if (next !== undefined) expect(next - start).toBeGreaterThanOrEqual(MINUTE);
      }
    }),
  );
});

test('nor where moments fall between two ticks of the log, however many there are', () => {
  const gaps = fc.array(fc.double({ min: 0, max: 900, noNaN: true }), { minLength: 300, maxLength: 600 });
  fc.assert(
    fc.property(gaps, fc.integer({ min: 50, max: 200 }), (between, limit) => {
      let now = 1_000;
      const { allowed } = run(
        between.map((gap) => (now += gap)),
        limit,
      );
      expect(allowed.length).toBeGreaterThanOrEqual(limit);
      for (const [place, start] of allowed.entries()) {
        const next = allowed[place + limit];
        if (next !== undefined) expect(next - start).toBeGreaterThanOrEqual(MINUTE);
      }
    }),
  );
});

test('nothing is refused that would fit: a refusal has a full minute behind it', () => {
  fc.assert(
    fc.property(arrivals, limits, (moments, limit) => {
      const { allowed, refused } = run(moments, limit);
      for (const [now] of refused) {
        expect(allowed.filter((start) => start <= now && start > now - MINUTE)).toHaveLength(limit);
      }
    }),
  );
});

test('whoever waits as long as a refusal says is let in, and a moment earlier is not', () => {
  fc.assert(
    fc.property(arrivals, limits, (moments, limit) => {
      const windows = new LocalWindows();
      const window = { key: 'k', limit, windowMs: MINUTE };
      for (const now of moments) {
        const reading = windows.take(window, now);
        if (reading.allowed) continue;
        expect(reading.retryMs).toBeGreaterThan(0);
        expect(windows.peek(window, now).allowed).toBe(false);
        const again = new LocalWindows();
        for (const earlier of moments.filter((moment) => moment <= now)) again.take(window, earlier);
        if (reading.retryMs > 1) expect(again.peek(window, now + reading.retryMs - 1).allowed).toBe(false);
        expect(again.take(window, now + reading.retryMs).allowed).toBe(true);
        return;
      }
    }),
  );
});

test('the whole limit may come at once, and again a minute later', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), (limit) => {
      const windows = new LocalWindows();
      const window = { key: 'k', limit, windowMs: MINUTE };
      for (const now of [5.3, 5.3 + MINUTE, 5.3 + 2 * MINUTE]) {
        for (let call = 1; call <= limit; call += 1) {
          expect(windows.take(window, now)).toMatchObject({ allowed: true, used: call, resetMs: MINUTE });
        }
        expect(windows.take(window, now)).toMatchObject({ allowed: false, retryMs: MINUTE });
      }
    }),
    { numRuns: 20 },
  );
});

test('a limit that was lowered counts what was let in before; one that was raised has room at once', () => {
  const windows = new LocalWindows();
  const window = (limit: number) => ({ key: 'k', limit, windowMs: MINUTE });
  for (let now = 0; now < 10; now += 1) windows.take(window(10), now);
  expect(windows.take(window(4), 10)).toMatchObject({ allowed: false, used: 10, retryMs: MINUTE + 6 - 10 });
  expect(windows.take(window(11), 10)).toMatchObject({ allowed: true, used: 11 });
});

test('keys do not share their limit, and those that are silent are forgotten', () => {
  const windows = new LocalWindows();
  for (let key = 0; key < 100; key += 1)
    expect(windows.take({ key: String(key), limit: 1, windowMs: MINUTE }, 0).allowed).toBe(true);
  expect(windows.size).toBe(100);
  windows.take({ key: 'later', limit: 1, windowMs: MINUTE }, 2 * MINUTE);
  expect(windows.size).toBe(1);
});

test('a flood of keys stays within its bounds', () => {
  const windows = new LocalWindows(10);
  for (let key = 0; key < 1_000; key += 1)
    windows.take({ key: String(key), limit: 1, windowMs: MINUTE }, key);
  expect(windows.size).toBe(10);
});
