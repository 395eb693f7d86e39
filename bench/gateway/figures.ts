import type { Spread } from './statistics';

/** One line of the table. */
export interface Figure {
  readonly what: string;
  readonly unit: string;
  readonly must?: number;
  readonly aim?: number;
  /** Figures are ratios or costs, so less is better; only throughput is the other way round. */
  readonly moreIsBetter?: true;
  readonly measured: Spread;
  /** Single rounds gave these values. */
  readonly rounds?: readonly number[];
  readonly note?: string;
}

export function held({ must, moreIsBetter, measured }: Figure): boolean | null {
  if (must === undefined) return null;
  return moreIsBetter ? measured.middle >= must : measured.middle <= must;
}
