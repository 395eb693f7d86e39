import fc from 'fast-check';
import { LocalWindows } from '../../../src/keys/rate/local-windows';

const MINUTE_MS = 60_000;

/** Arrival times of calls: bursts, trickles and long silences. */
const arrivals = fc
  .array(
    fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 500 }),
      fc.integer({ min: 500, max: 20_000 }),
      fc.constantFrom(MINUTE_MS - 1, MINUTE_MS, MINUTE_MS + 1),
    ),
    { minLength: 1, maxLength: 300 },
  )
  .map((gaps) => {
    let now = 1_000;
    return gaps.map((gap) => (now += gap));
  });

const limits = fc.integer({ min: 1, max: 40 });

function simulate(
  moments: readonly number[],
  limit: number,
): { allowed: number[]; refused: [number, number][] } {
  const windows = new LocalWindows();
  const allowed: number[] = [];
  const refusals: [number, number][] = [];
  for (const now of moments) {
    const reading = windows.take({ key: 'k', limit, windowMs: MINUTE_MS }, now);
    if (reading.allowed) allowed.push(now);
    else refusals.push([now, reading.retryMs]);
  }
  return { allowed, refused: refusals };
}

test('allows at most the limit in any sliding minute', () => {
  fc.assert(
    fc.property(arrivals, limits, (moments, limit) => {
      const { allowed } = simulate(moments, limit);
      for (const [place, start] of allowed.entries()) {
        const next = allowed[place + limit];
        if (next !== undefined) expect(next - start).toBeGreaterThanOrEqual(MINUTE_MS);
      }
    }),
  );
});

test('allows at most the limit with any number of calls between two log ticks', () => {
  const gaps = fc.array(fc.double({ min: 0, max: 900, noNaN: true }), { minLength: 300, maxLength: 600 });
  fc.assert(
    fc.property(gaps, fc.integer({ min: 50, max: 200 }), (between, limit) => {
      let now = 1_000;
      const { allowed } = simulate(
        between.map((gap) => (now += gap)),
        limit,
      );
      expect(allowed.length).toBeGreaterThanOrEqual(limit);
      for (const [place, start] of allowed.entries()) {
        const next = allowed[place + limit];
        if (next !== undefined) expect(next - start).toBeGreaterThanOrEqual(MINUTE_MS);
      }
    }),
  );
});

test('refuses a call only when the limit is used up in the past minute', () => {
  fc.assert(
    fc.property(arrivals, limits, (moments, limit) => {
      const { allowed, refused } = simulate(moments, limit);
      for (const [now] of refused) {
        expect(allowed.filter((start) => start <= now && start > now - MINUTE_MS)).toHaveLength(limit);
      }
    }),
  );
});

test('admits a call after the reported wait and not a moment earlier', () => {
  fc.assert(
    fc.property(arrivals, limits, (moments, limit) => {
      const windows = new LocalWindows();
      const window = { key: 'k', limit, windowMs: MINUTE_MS };
      for (const now of moments) {
        const reading = windows.take(window, now);
        if (reading.allowed) continue;
        expect(reading.retryMs).toBeGreaterThan(0);
        expect(windows.peek(window, now).allowed).toBe(false);
        const replay = new LocalWindows();
        for (const earlierMoment of moments.filter((moment) => moment <= now))
          replay.take(window, earlierMoment);
        if (reading.retryMs > 1) expect(replay.peek(window, now + reading.retryMs - 1).allowed).toBe(false);
        expect(replay.take(window, now + reading.retryMs).allowed).toBe(true);
        return;
      }
    }),
  );
});

test('admits the entire limit at once and again a minute later', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), (limit) => {
      const windows = new LocalWindows();
      const window = { key: 'k', limit, windowMs: MINUTE_MS };
      for (const now of [5.3, 5.3 + MINUTE_MS, 5.3 + 2 * MINUTE_MS]) {
        for (let call = 1; call <= limit; call += 1) {
          expect(windows.take(window, now)).toMatchObject({ allowed: true, used: call, resetMs: MINUTE_MS });
        }
        expect(windows.take(window, now)).toMatchObject({ allowed: false, retryMs: MINUTE_MS });
      }
    }),
    { numRuns: 20 },
  );
});

test('lowered limit counts earlier calls, and a raised limit applies immediately', () => {
  const windows = new LocalWindows();
  const window = (limit: number) => ({ key: 'k', limit, windowMs: MINUTE_MS });
  for (let now = 0; now < 10; now += 1) windows.take(window(10), now);
  expect(windows.take(window(4), 10)).toMatchObject({
    allowed: false,
    used: 10,
    retryMs: MINUTE_MS + 6 - 10,
  });
  expect(windows.take(window(11), 10)).toMatchObject({ allowed: true, used: 11 });
});

test('keys have separate limits, and idle keys are forgotten', () => {
  const windows = new LocalWindows();
  for (let key = 0; key < 100; key += 1)
    expect(windows.take({ key: String(key), limit: 1, windowMs: MINUTE_MS }, 0).allowed).toBe(true);
  expect(windows.size).toBe(100);
  windows.take({ key: 'later', limit: 1, windowMs: MINUTE_MS }, 2 * MINUTE_MS);
  expect(windows.size).toBe(1);
});

test('number of tracked keys is limited', () => {
  const windows = new LocalWindows(10);
  for (let key = 0; key < 1_000; key += 1)
    windows.take({ key: String(key), limit: 1, windowMs: MINUTE_MS }, key);
  expect(windows.size).toBe(10);
});
