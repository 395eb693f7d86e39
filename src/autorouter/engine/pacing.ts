import { DAY_MS } from '../../kernel';

const PROPORTIONAL = 0.2;
const INTEGRAL = 0.1;
const MOST_RAISE = 0.5;
/** The first tenth of a period says little of the rest: a burst in it is not taken for the pace. */
const LEAST_ELAPSED = 0.1;

/** A controller that raises kappa while projected spend is over the budget, and lets it sink again. */
export interface Pacing {
  /** It is the overspending of the past, in days of 100 %. */
  readonly overspent: number;
  readonly at: number;
  /** It is added to kappa. */
  readonly raise: number;
}

export const noPacing = (now: number): Pacing => ({ overspent: 0, at: now, raise: 0 });

/** `projected` is the spend by the end of the period at today's pace. Both are in the same unit of money. */
export function pace(
  pacing: Pacing,
  { projected, budget, now }: { projected: number; budget: number; now: number },
): Pacing {
  const error = budget > 0 ? Math.min(2, Math.max(-1, projected / budget - 1)) : 2;
  const days = Math.min(1, Math.max(0, now - pacing.at) / DAY_MS);
  // Bounded, or a long overspending would go on raising long after it ended.
  const overspent = Math.min(MOST_RAISE / INTEGRAL, Math.max(0, pacing.overspent + error * days));
  const raise = Math.min(MOST_RAISE, Math.max(0, PROPORTIONAL * error + INTEGRAL * overspent));
  return { overspent, at: now, raise };
}

/** A period will have cost this much by its end, if spending goes on as it did so far. */
export function projectedSpend(
  spent: number,
  { startedAt, endsAt, now }: { startedAt: number; endsAt: number; now: number },
): number {
  const length = endsAt - startedAt;
  if (length <= 0) return spent;
  const elapsed = Math.min(1, Math.max(0, (now - startedAt) / length));
  return spent + (spent / Math.max(elapsed, LEAST_ELAPSED)) * (1 - elapsed);
}
