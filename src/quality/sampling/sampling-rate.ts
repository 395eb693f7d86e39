/** A cell (kind of request and model) with fewer scores is sampled more often, as is traffic that has changed. */
export const THIN_CELL = 30;
const BOOST = 3;
/** Shares of the month's budget. */
const HEAD_START = 0.02;
const SLOWDOWN_RANGE = 0.2;

export interface Inclusion {
  readonly sampledBy: 'rate' | 'boost';
  /** Probability of the request being in the sample; reports use it as weight. */
  readonly probability: number;
}

export interface SamplingContext {
  /** Counted up to `THIN_CELL`. */
  readonly scoresInCell: number;
  readonly isOfChangedTraffic: boolean;
  readonly budget: RemainingBudget;
}

export interface RemainingBudget {
  readonly money: number;
  readonly time: number;
}

export const inclusionOf = (
  samplingPercent: number,
  { scoresInCell, isOfChangedTraffic, budget }: SamplingContext,
): Inclusion => {
  const rate = Math.min(1, samplingPercent / 100);
  const boosted = maxProbability(samplingPercent);
  const pace = paceOf(budget);
  return (isOfChangedTraffic || scoresInCell < THIN_CELL) && boosted > rate
    ? { sampledBy: 'boost', probability: boosted * pace }
    : { sampledBy: 'rate', probability: rate * pace };
};

/**
 * Returns 1 while about as much money as time remains, and 0 if a fifth less or none does; linear in between. A busy
 * month settles at the pace that its budget can sustain.
 */
export const paceOf = ({ money, time }: RemainingBudget): number =>
  money <= 0 ? 0 : Math.min(1, Math.max(0, 1 - (1 - (money + HEAD_START) / time) / SLOWDOWN_RANGE));

/** Highest probability of any cell, drawn first, before the request is examined. */
export const maxProbability = (samplingPercent: number): number =>
  Math.min(1, (samplingPercent / 100) * BOOST);
