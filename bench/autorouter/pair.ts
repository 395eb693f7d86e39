import type { DataSet, PromptRow } from './data';
import type { Method } from './methods';
import { randomOf, shuffled } from './random';

/** For a weak and a strong model: share of the strong model's lead gained by a share of calls to it. */
export interface PairOutcome {
  /** Mean over all shares; chance scores 0.5. */
  readonly apgr: number;
  /** Percentage of calls that gains 50 % and 80 % of the lead. */
  readonly cpt50: number;
  readonly cpt80: number;
}

export function pairOutcome(set: DataSet, seed: number, labels: number, method: Method): PairOutcome {
  const random = randomOf(seed);
  const rows = shuffled(set.rows, random);
  const predict = method(set, rows.slice(0, labels), random);
  const test = rows.slice(labels);
  const gains = test
    .map((row) => ({ row, wanted: leadOf(predict(row).quality) }))
    .sort((left, right) => right.wanted - left.wanted)
    .map(({ row }) => gainOf(row));
  return figures(gains);
}

const leadOf = ([weak = 0, strong = 0]: readonly number[]): number => strong - weak;

const gainOf = ({ scores }: PromptRow): number => leadOf(scores);

function figures(gains: readonly number[]): PairOutcome {
  const totalGain = gains.reduce((sum, gain) => sum + gain, 0);
  let [sum, area, cpt50, cpt80] = [0, 0, 100, 100];
  gains.forEach((gain, at) => {
    sum += gain;
    area += sum / totalGain;
    const share = (100 * (at + 1)) / gains.length;
    if (sum >= totalGain * 0.5) cpt50 = Math.min(cpt50, share);
    if (sum >= totalGain * 0.8) cpt80 = Math.min(cpt80, share);
  });
  return { apgr: area / gains.length, cpt50, cpt80 };
}
