import { MINUTE_MS } from '../../kernel';

const HALF_LIFE_MS = 10 * MINUTE_MS;
/** The prior: one bad answer in a hundred. */
const PRIOR = { failed: 0.05, answered: 4.95 };

/**
 * Recent answers of models and complaints about them, both with a half-life of ten minutes. Supplier failures do not
 * count; they affect the health of the lane.
 */
export type Reliability = Map<string, { failed: number; answered: number; at: number }>;

/** Adds an answer, or a complaint about it; negative counts take one back. */
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

export function failureChance(observations: readonly Reliability[], model: string, now: number): number {
  const counts = observations.map((each) => decayed(each, model, now));
  const failed = counts.reduce((sum, each) => sum + each.failed, 0);
  const answered = counts.reduce((sum, each) => sum + each.answered, 0);
  return (failed + PRIOR.failed) / (failed + answered + PRIOR.failed + PRIOR.answered);
}

function decayed(reliability: Reliability, model: string, now: number): { failed: number; answered: number } {
  const entry = reliability.get(model);
  if (entry === undefined) return { failed: 0, answered: 0 };
  const factor = 0.5 ** (Math.max(0, now - entry.at) / HALF_LIFE_MS);
  return { failed: entry.failed * factor, answered: entry.answered * factor };
}
