/** A cell, a kind of request and a model, that has fewer scores is sampled more often, as is traffic that has changed. */
export const THIN_CELL = 30;
const BOOST = 3;
/** They are shares of the month's budget. */
const HEAD_START = 0.02;
const HASTE = 0.2;

export interface Inclusion {
  readonly sampledBy: 'rate' | 'boost';
  /** The request is in the sample with this probability; reports weigh by it. */
  readonly probability: number;
}

export interface SamplingFacts {
  /** They are counted up to `THIN_CELL`. */
  readonly scoresInCell: number;
  readonly isOfChangedTraffic: boolean;
  readonly budget: BudgetLeft;
}

/** They say of the month which share of the money is left, and which share of the time. */
export interface BudgetLeft {
  readonly money: number;
  readonly time: number;
}

export const inclusionOf = (
  samplingPercent: number,
  { scoresInCell, isOfChangedTraffic, budget }: SamplingFacts,
): Inclusion => {
  const rate = Math.min(1, samplingPercent / 100);
  const boosted = mostProbable(samplingPercent);
  const pace = paceOf(budget);
  return (isOfChangedTraffic || scoresInCell < THIN_CELL) && boosted > rate
    ? { sampledBy: 'boost', probability: boosted * pace }
    : { sampledBy: 'rate', probability: rate * pace };
};

/**
 * It is 1 while about as much money is left as time, and 0 where it is a fifth less or nothing. Between them
 * it is in proportion. So a busy month settles at the pace that its budget carries to the end.
 */
export const paceOf = ({ money, time }: BudgetLeft): number =>
  money <= 0 ? 0 : Math.min(1, Math.max(0, 1 - (1 - (money + HEAD_START) / time) / HASTE));

/** The highest that any cell may have: drawn first, before anything of the request is looked at. */
export const mostProbable = (samplingPercent: number): number => Math.min(1, (samplingPercent / 100) * BOOST);
