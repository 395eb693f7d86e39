import fc from 'fast-check';
import { LocalTokens } from '../../../src/keys/rate/token-log';

const MINUTE_MS = 60_000;
const TOKEN_LIMIT = 100;
const window = { key: 'k', limit: TOKEN_LIMIT, windowMs: MINUTE_MS };

interface TokenStep {
  readonly gap: number;
  readonly tokens: number;
  /** Actual usage, known after the given number of steps. */
  readonly actual: number;
  readonly after: number;
}

const steps = fc.array(
  fc.record({
    gap: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 9_000 }),
      fc.constantFrom(MINUTE_MS - 1, MINUTE_MS),
    ),
    tokens: fc.integer({ min: 0, max: TOKEN_LIMIT + 10 }),
    actual: fc.integer({ min: 0, max: TOKEN_LIMIT }),
    after: fc.integer({ min: 0, max: 6 }),
  }),
  { minLength: 1, maxLength: 120 },
);

interface CountedTokens {
  readonly at: number;
  readonly id: string;
  tokens: number;
}

/** Reference model that scans every entry each time. */
class TokenLogModel {
  counted: CountedTokens[] = [];

  used(now: number): number {
    return this.counted.reduce((sum, { at, tokens }) => sum + (at > now - MINUTE_MS ? tokens : 0), 0);
  }
}

function play(sequence: readonly TokenStep[], correct: (step: TokenStep) => number | null): void {
  const local = new LocalTokens();
  const model = new TokenLogModel();
  const due: { readonly at: number; readonly id: string; readonly tokens: number }[] = [];
  let now = 1_000;
  for (const [place, step] of sequence.entries()) {
    now += step.gap;
    for (const correction of due.filter(({ at }) => at === place)) {
      local.correct(window, correction.id, correction.tokens);
      const entry = model.counted.find(({ id }) => id === correction.id);
      if (entry !== undefined) entry.tokens = correction.tokens;
    }
    const usedBefore = model.used(now);
    const reading = local.take(window, String(place), step.tokens, now);
    expect(reading.allowed).toBe(usedBefore + step.tokens <= TOKEN_LIMIT);
    expect(reading.used).toBe(usedBefore + (reading.allowed ? step.tokens : 0));
    if (!reading.allowed) {
      expect(reading.retryMs).toBeGreaterThan(0);
      expect(reading.retryMs).toBeLessThanOrEqual(MINUTE_MS);
      if (step.tokens <= TOKEN_LIMIT)
        expect(model.used(now + reading.retryMs) + step.tokens).toBeLessThanOrEqual(TOKEN_LIMIT);
      continue;
    }
    model.counted.push({ at: now, id: String(place), tokens: step.tokens });
    const tokens = correct(step);
    if (tokens !== null) due.push({ at: place + 1 + step.after, id: String(place), tokens });
  }
}

test('admits a call exactly when its tokens fit into the last minute, also with corrections', () => {
  fc.assert(fc.property(steps, (sequence) => play(sequence, ({ actual }) => actual)));
});

test('holds at most the limit in any minute when no correction is upwards', () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const starts: { at: number; tokens: number }[] = [];
      const local = new LocalTokens();
      let now = 0;
      for (const [place, { gap, tokens }] of sequence.entries()) {
        now += gap;
        if (local.take(window, String(place), tokens, now).allowed) starts.push({ at: now, tokens });
      }
      for (const { at: from } of starts) {
        const within = starts.filter(({ at }) => at >= from && at < from + MINUTE_MS);
        expect(within.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(TOKEN_LIMIT);
      }
    }),
  );
});

test('keys are forgotten after a minute', () => {
  const local = new LocalTokens();
  for (let key = 0; key < 100; key += 1) local.take({ ...window, key: String(key) }, 'one', 5, 1_000);
  local.take({ ...window, key: 'later' }, 'one', 5, 1_000 + 2 * MINUTE_MS);
  expect(local.size).toBe(1);
});
