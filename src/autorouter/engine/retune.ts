import { DOUBT_SCALE } from './appraise';
import type { ExplainedCandidate } from './explanation';
import type { Tuning } from './policy';

const NORMAL_95 = 1.96;

type Caution = Pick<Tuning, 'kappa' | 'z'>;

export interface Retuning {
  readonly from: Caution;
  readonly to: Caution;
  readonly reference: string;
  /** Usual cost of a request to the reference model, in nano-USD. */
  readonly referenceCost: number;
}

/**
 * The standard deviation of the estimate. The wider half of the interval is used, as the other can be cut off at 0 or
 * 1.
 */
export const doubtOf = ({ q, lo, hi }: Pick<ExplainedCandidate, 'q' | 'lo' | 'hi'>): number =>
  Math.max(q - lo, hi - q) / NORMAL_95;

export function retunedUtility(
  candidate: ExplainedCandidate,
  { from, to, reference, referenceCost }: Retuning,
): number {
  const caution = candidate.model === reference ? 0 : DOUBT_SCALE * doubtOf(candidate);
  const cost = candidate.cost_est / Math.max(1, referenceCost);
  return candidate.u - (to.kappa - from.kappa) * cost - (to.z - from.z) * caution;
}
