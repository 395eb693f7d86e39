import fc from 'fast-check';
import { LocalTokens } from '../../../src/keys/rate/token-log';

const MINUTE = 60_000;
const LIMIT = 100;
const window = { key: 'k', limit: LIMIT, windowMs: MINUTE };

interface Step {
  readonly gap: number;
  readonly tokens: number;
  /** It took this in the end, which is known after so many steps. */
  readonly actual: number;
  readonly after: number;
}

const steps = fc.array(
  fc.record({
    gap: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9_000 }), fc.constantFrom(MINUTE - 1, MINUTE)),
    tokens: fc.integer({ min: 0, max: LIMIT + 10 }),
    actual: fc.integer({ min: 0, max: LIMIT }),
    after: fc.integer({ min: 0, max: 6 }),
  }),
  { minLength: 1, maxLength: 120 },
);

interface Counted {
  readonly at: number;
  readonly id: string;
  tokens: number;
}

/** The same by looking at everything each time. */
class Model {
  counted: Counted[] = [];

  used(now: number): number {
    return this.counted.reduce((sum, { at, tokens }) => sum + (at > now - MINUTE ? tokens : 0), 0);
  }
}

function play(given: readonly Step[], correct: (step: Step) => number | null): void {
  const local = new LocalTokens();
  const model = new Model();
  const due: { readonly at: number; readonly id: string; readonly tokens: number }[] = [];
  let now = 1_000;
  for (const [place, step] of given.entries()) {
    now += step.gap;
    for (const one of due.filter(({ at }) => at === place)) {
      local.correct(window, one.id, one.tokens);
      const entry = model.counted.find(({ id }) => id === one.id);
      if (entry !== undefined) entry.tokens = one.tokens;
    }
    const before = model.used(now);
    const reading = local.take(window, String(place), step.tokens, now);
    expect(reading.allowed).toBe(before + step.tokens <= LIMIT);
    expect(reading.used).toBe(before + (reading.allowed ? step.tokens : 0));
    if (!reading.allowed) {
      expect(reading.retryMs).toBeGreaterThan(0);
      expect(reading.retryMs).toBeLessThanOrEqual(MINUTE);
      if (step.tokens <= LIMIT)
        expect(model.used(now + reading.retryMs) + step.tokens).toBeLessThanOrEqual(LIMIT);
      continue;
    }
    model.counted.push({ at: now, id: String(place), tokens: step.tokens });
    const tokens = correct(step);
    if (tokens !== null) due.push({ at: place + 1 + step.after, id: String(place), tokens });
  }
}

test('a call is let in exactly when its tokens fit into the last minute, whatever is corrected meanwhile', () => {
  fc.assert(fc.property(steps, (given) => play(given, ({ actual }) => actual)));
});

test('without corrections upwards no minute ever holds more than the limit', () => {
  fc.assert(
    fc.property(steps, (given) => {
      const starts: { at: number; tokens: number }[] = [];
      const local = new LocalTokens();
      let now = 0;
      for (const [place, { gap, tokens }] of given.entries()) {
        now += gap;
        if (local.take(window, String(place), tokens, now).allowed) starts.push({ at: now, tokens });
      }
      for (const { at: from } of starts) {
        const within = starts.filter(({ at }) => at >= from && at < from + MINUTE);
        expect(within.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(LIMIT);
      }
    }),
  );
});

test('keys whose minute is over are forgotten', () => {
  const local = new LocalTokens();
  for (let key = 0; key < 100; key += 1) local.take({ ...window, key: String(key) }, 'one', 5, 1_000);
  local.take({ ...window, key: 'later' }, 'one', 5, 1_000 + 2 * MINUTE);
  expect(local.size).toBe(1);
});
