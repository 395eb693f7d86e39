import type { Spread } from './statistics';

/** A line of the report. */
export interface GatewayFigure {
  readonly what: string;
  readonly unit: string;
  readonly must?: number;
  readonly aim?: number;
  /** Figures are ratios or costs, so less is better; throughput is the only exception. */
  readonly moreIsBetter?: true;
  readonly measured: Spread;
  /** Values of the individual rounds. */
  readonly rounds?: readonly number[];
  readonly note?: string;
}

export function isMet({ must, moreIsBetter, measured }: GatewayFigure): boolean | null {
  if (must === undefined) return null;
  return moreIsBetter ? measured.middle >= must : measured.middle <= must;
}
