import type { DataSet, Row } from './data';
import type { Method } from './methods';
import { randomOf, shuffled } from './random';

/** Of a weak and a strong model: how much of the strong one's lead a share of calls to it brings. */
export interface PairOutcome {
  /** Mean over all shares; chance gives 0.5. */
  readonly apgr: number;
  /** Share of calls that brings half and four fifths of the lead, in percent. */
  readonly cpt50: number;
  readonly cpt80: number;
}

export function pairOutcome(set: DataSet, seed: number, labels: number, method: Method): PairOutcome {
  const random = randomOf(seed);
  const rows = shuffled(set.rows, random);
  const believe = method(set, rows.slice(0, labels), random);
  const test = rows.slice(labels);
  const gains = test
    .map((row) => ({ row, wanted: leadOf(believe(row).quality) }))
    .sort((one, other) => other.wanted - one.wanted)
    .map(({ row }) => gainOf(row));
  return figures(gains);
}

const leadOf = ([weak = 0, strong = 0]: readonly number[]): number => strong - weak;

const gainOf = ({ scores }: Row): number => leadOf(scores);

function figures(gains: readonly number[]): PairOutcome {
  const whole = gains.reduce((sum, gain) => sum + gain, 0);
  let [sum, area, cpt50, cpt80] = [0, 0, 100, 100];
  gains.forEach((gain, at) => {
    sum += gain;
    area += sum / whole;
    const share = (100 * (at + 1)) / gains.length;
    if (sum >= whole * 0.5) cpt50 = Math.min(cpt50, share);
    if (sum >= whole * 0.8) cpt80 = Math.min(cpt80, share);
  });
  return { apgr: area / gains.length, cpt50, cpt80 };
}
