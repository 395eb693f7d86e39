import { DAY_MS } from '../../kernel';

const PROPORTIONAL = 0.2;
const INTEGRAL = 0.1;
const MAX_RAISE = 0.5;
/** The first tenth of a period says little about the rest, so a burst in it is not taken for the pace. */
const MIN_ELAPSED = 0.1;

/** A controller that raises kappa while projected spending exceeds the budget, and lowers it afterwards. */
export interface Pacing {
  /** Past overspending, in days of 100 %. */
  readonly overspent: number;
  readonly at: number;
  readonly raise: number;
}

export const noPacing = (now: number): Pacing => ({ overspent: 0, at: now, raise: 0 });

/** `projected` is the spending by the end of the period at the current pace, in the same unit as `budget`. */
export function pace(
  pacing: Pacing,
  { projected, budget, now }: { projected: number; budget: number; now: number },
): Pacing {
  const error = budget > 0 ? Math.min(2, Math.max(-1, projected / budget - 1)) : 2;
  const days = Math.min(1, Math.max(0, now - pacing.at) / DAY_MS);
  // Capped to prevent integral wind-up.
  const overspent = Math.min(MAX_RAISE / INTEGRAL, Math.max(0, pacing.overspent + error * days));
  const raise = Math.min(MAX_RAISE, Math.max(0, PROPORTIONAL * error + INTEGRAL * overspent));
  return { overspent, at: now, raise };
}

export function projectedSpend(
  spent: number,
  { startedAt, endsAt, now }: { startedAt: number; endsAt: number; now: number },
): number {
  const length = endsAt - startedAt;
  if (length <= 0) return spent;
  const elapsed = Math.min(1, Math.max(0, (now - startedAt) / length));
  return spent + (spent / Math.max(elapsed, MIN_ELAPSED)) * (1 - elapsed);
}
