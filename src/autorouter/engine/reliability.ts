import { MINUTE_MS } from '../../kernel';

const HALF_LIFE_MS = 10 * MINUTE_MS;
/** The prior: one bad answer in a hundred. */
const PRIOR = { failed: 0.05, answered: 4.95 };

/**
 * Recent answers of models stand beside what was said against them; both halve in ten minutes. A supplier
 * that fails says nothing of its model: that is the health of the lane.
 */
export type Reliability = Map<string, { failed: number; answered: number; at: number }>;

/** An answer, and what was said of it after it was counted, or taken back. */
export function noteSignal(
  reliability: Reliability,
  model: string,
  change: { readonly failed: number; readonly answered: number },
  now: number,
): void {
  const { failed, answered } = decayed(reliability, model, now);
  reliability.set(model, {
    failed: Math.max(0, failed + change.failed),
    answered: Math.max(0, answered + change.answered),
    at: now,
  });
}

/** The chance that the model's next answer is no good, by all that was seen of it. */
export function failureChance(of: readonly Reliability[], model: string, now: number): number {
  const seen = of.map((each) => decayed(each, model, now));
  const failed = seen.reduce((sum, each) => sum + each.failed, 0);
  const answered = seen.reduce((sum, each) => sum + each.answered, 0);
  return (failed + PRIOR.failed) / (failed + answered + PRIOR.failed + PRIOR.answered);
}

function decayed(reliability: Reliability, model: string, now: number): { failed: number; answered: number } {
  const seen = reliability.get(model);
  if (seen === undefined) return { failed: 0, answered: 0 };
  const factor = 0.5 ** (Math.max(0, now - seen.at) / HALF_LIFE_MS);
  return { failed: seen.failed * factor, answered: seen.answered * factor };
}
