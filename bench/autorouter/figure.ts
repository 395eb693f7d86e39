import { deviation, mean } from './curve';

/** A line of the report: values per seed and the requirement for their mean. */
export interface RouterFigure {
  readonly track: string;
  readonly what: string;
  readonly unit: '%' | '×' | '' | 'ms';
  readonly values: readonly number[];
  /** Requirement for the mean; missing it fails the run. */
  readonly must?: RequirementBar;
  readonly target?: RequirementBar;
  readonly note?: string;
}

export interface RequirementBar {
  readonly side: '≥' | '≤' | '>';
  readonly value: number;
}

export const atLeast = (value: number): RequirementBar => ({ side: '≥', value });
export const atMost = (value: number): RequirementBar => ({ side: '≤', value });
export const above = (value: number): RequirementBar => ({ side: '>', value });

export function meetsBar(values: readonly number[], bar: RequirementBar | undefined): boolean | null {
  if (bar === undefined) return null;
  const average = mean(values);
  if (Number.isNaN(average)) return false;
  return bar.side === '≥'
    ? average >= bar.value
    : bar.side === '≤'
      ? average <= bar.value
      : average > bar.value;
}

export const isMet = ({ values, must }: RouterFigure): boolean | null => meetsBar(values, must);

const digits = { '%': 1, '×': 3, '': 3, ms: 3 } as const;

const formatValue = (value: number, unit: RouterFigure['unit']): string =>
  `${value.toFixed(digits[unit])}${unit === '' ? '' : ` ${unit}`}`;

export interface RouterCells {
  readonly track: string;
  readonly what: string;
  readonly must: string;
  readonly target: string;
  readonly measured: string;
  readonly verdict: string;
  readonly note: string;
}

export const headings: RouterCells = {
  track: '',
  what: 'figure',
  must: 'must',
  target: 'target',
  measured: 'mean ± sd',
  verdict: '',
  note: '',
};

export function cellsOf({ track, what, unit, values, must, target, note = '' }: RouterFigure): RouterCells {
  const formatBar = (requirement: RequirementBar | undefined): string =>
    requirement === undefined ? '' : `${requirement.side} ${Math.round(requirement.value * 1_000) / 1_000}`;
  const spread = values.length > 1 ? ` ± ${deviation(values).toFixed(digits[unit])}` : '';
  const verdict = meetsBar(values, must);
  const meetsTarget = meetsBar(values, target);
  return {
    track,
    what,
    must: formatBar(must),
    target: target === undefined ? '' : `${formatBar(target)} ${meetsTarget === true ? 'met' : 'not met'}`,
    measured: formatValue(mean(values), unit).replace(/( [%×]| ms)?$/, `${spread}$1`),
    verdict: verdict === null ? '' : verdict ? 'held' : 'MISSED',
    note,
  };
}

export const line = ({ track, what, must, target, measured, verdict, note }: RouterCells): string =>
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
