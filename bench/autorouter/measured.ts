import { deviation, mean } from './curve';

/** One line of the report: what single seeds gave, and what was asked of their mean. */
export interface Figure {
  readonly track: string;
  readonly what: string;
  readonly unit: '%' | '×' | '' | 'ms';
  readonly values: readonly number[];
  /** The mean has to be at least, or at most, that. */
  readonly must?: Bar;
  readonly target?: Bar;
  readonly note?: string;
}

export interface Bar {
  readonly side: '≥' | '≤' | '>';
  readonly value: number;
}

export const atLeast = (value: number): Bar => ({ side: '≥', value });
export const atMost = (value: number): Bar => ({ side: '≤', value });
export const above = (value: number): Bar => ({ side: '>', value });

export function reaches(values: readonly number[], bar: Bar | undefined): boolean | null {
  if (bar === undefined) return null;
  const middle = mean(values);
  if (Number.isNaN(middle)) return false;
  return bar.side === '≥' ? middle >= bar.value : bar.side === '≤' ? middle <= bar.value : middle > bar.value;
}

export const held = ({ values, must }: Figure): boolean | null => reaches(values, must);

const digits = { '%': 1, '×': 3, '': 3, ms: 3 } as const;

const written = (value: number, unit: Figure['unit']): string =>
  `${value.toFixed(digits[unit])}${unit === '' ? '' : ` ${unit}`}`;

export interface Cells {
  readonly track: string;
  readonly what: string;
  readonly must: string;
  readonly target: string;
  readonly measured: string;
  readonly verdict: string;
  readonly note: string;
}

export const headings: Cells = {
  track: '',
  what: 'figure',
  must: 'must',
  target: 'target',
  measured: 'mean ± sd',
  verdict: '',
  note: '',
};

export function cellsOf({ track, what, unit, values, must, target, note = '' }: Figure): Cells {
  const bar = (one: Bar | undefined): string =>
    one === undefined ? '' : `${one.side} ${Math.round(one.value * 1_000) / 1_000}`;
  const spread = values.length > 1 ? ` ± ${deviation(values).toFixed(digits[unit])}` : '';
  const verdict = reaches(values, must);
  const met = reaches(values, target);
  return {
    track,
    what,
    must: bar(must),
    target: target === undefined ? '' : `${bar(target)} ${met === true ? 'met' : 'not met'}`,
    measured: written(mean(values), unit).replace(/( [%×]| ms)?$/, `${spread}$1`),
    verdict: verdict === null ? '' : verdict ? 'held' : 'MISSED',
    note,
  };
}

export const line = ({ track, what, must, target, measured, verdict, note }: Cells): string =>
  [
    track.padEnd(2),
    what.padEnd(46),
    must.padStart(8),
    target.padStart(16),
    measured.padStart(20),
    verdict.padStart(7),
    note && ` ${note}`,
  ]
    .join(' ')
    .trimEnd();
