import { DOUBT_SCALE } from './appraise';
import type { ExplainedCandidate } from './explanation';
import type { Tuning } from './policy';

const NORMAL_95 = 1.96;

type Caution = Pick<Tuning, 'kappa' | 'z'>;

export interface Retuning {
  readonly from: Caution;
  readonly to: Caution;
  readonly reference: string;
  /** A request of the reference model usually costs this much, in nano-USD. */
  readonly referenceCost: number;
}

/** The standard deviation of what was believed; the end of the interval that was cut at 0 or 1 says less. */
export const doubtOf = ({ q, lo, hi }: Pick<ExplainedCandidate, 'q' | 'lo' | 'hi'>): number =>
  Math.max(q - lo, hi - q) / NORMAL_95;

/** The utility that a candidate of an explanation would have had at another place of the dial. */
export function retuned(
  candidate: ExplainedCandidate,
  { from, to, reference, referenceCost }: Retuning,
): number {
  const caution = candidate.model === reference ? 0 : DOUBT_SCALE * doubtOf(candidate);
  const cost = candidate.cost_est / Math.max(1, referenceCost);
  return candidate.u - (to.kappa - from.kappa) * cost - (to.z - from.z) * caution;
}
