/** A cell, a kind of request and a model, that has fewer scores is sampled more often, as is traffic that has changed. */
const THIN_CELL = 30;
const BOOST = 3;

export interface Inclusion {
  readonly sampledBy: 'rate' | 'boost';
  /** With what probability the request is in the sample; reports weigh by it. */
  readonly probability: number;
}

export const inclusionOf = (
  samplingPercent: number,
  { scoresInCell, isOfChangedTraffic }: { scoresInCell: number; isOfChangedTraffic: boolean },
): Inclusion => {
  const rate = Math.min(1, samplingPercent / 100);
  const boosted = mostProbable(samplingPercent);
  return (isOfChangedTraffic || scoresInCell < THIN_CELL) && boosted > rate
    ? { sampledBy: 'boost', probability: boosted }
    : { sampledBy: 'rate', probability: rate };
};

/** The highest that any cell may have: drawn first, before anything of the request is looked at. */
export const mostProbable = (samplingPercent: number): number => Math.min(1, (samplingPercent / 100) * BOOST);
