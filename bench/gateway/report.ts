import { factsOf, keepRun, loadOf, type RunFacts } from '../kept-run';
import { placement } from './cores';
import { type Figure, held } from './figures';

interface GatewayFacts extends RunFacts {
  readonly placement: string;
}

export const circumstances = (words: readonly string[], before: number): GatewayFacts => ({
  ...factsOf('gateway', words, before, ['src', 'migrations', 'package-lock.json']),
  placement,
});

interface Cells {
  readonly what: string;
  readonly must: string;
  readonly aim: string;
  readonly measured: string;
  readonly spread: string;
  readonly verdict: string;
  readonly note: string;
}

export const headings: Cells = {
  what: 'figure',
  must: 'must',
  aim: 'aim',
  measured: 'measured',
  spread: 'middle half',
  verdict: '',
  note: '',
};

export function cellsOf(figure: Figure): Cells {
  const { what, unit, must, aim, measured, moreIsBetter, note = '' } = figure;
  const bound = moreIsBetter ? '≥ ' : '';
  const verdict = held(figure);
  return {
    what,
    must: must === undefined ? '' : bound + String(must),
    aim: aim === undefined ? '' : bound + String(aim),
    measured: `${readable(measured.middle)} ${unit}`.trim(),
    spread: measured.low === measured.high ? '' : `${readable(measured.low)} … ${readable(measured.high)}`,
    verdict: verdict === null ? '' : verdict ? 'held' : 'MISSED',
    note,
  };
}

const readable = (value: number): string =>
  Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(Math.abs(value) < 0.1 ? 1 : 3);

export const line = ({ what, must, aim, measured, spread, verdict, note }: Cells): string =>
  [
    what.padEnd(48),
    must.padStart(5),
    aim.padStart(5),
    measured.padStart(9),
    spread.padStart(15),
    verdict.padStart(7),
    note && ` ${note}`,
  ]
    .join(' ')
    .trimEnd();

/** Kept for comparison with later commits. */
export const keep = (figures: readonly Figure[], facts: GatewayFacts): string =>
  keepRun(facts, figures, markdown(figures, facts));

function markdown(figures: readonly Figure[], facts: GatewayFacts): string[] {
  const row = ({ what, must, aim, measured, spread, verdict, note }: Cells): string =>
    `| ${[what, must, aim, measured, spread, verdict, note].join(' | ')} |`;
  return [
    `# bench:gateway, ${facts.date}, commit ${facts.commit}`,
    '',
    `Node ${facts.node}, ${facts.machine}; ${facts.placement}.`,
    `\`${facts.command}\`; ${loadOf(facts)}`,
    '',
    row(headings),
    '|---|--:|--:|--:|--:|---|---|',
    ...figures.map((figure) => row(cellsOf(figure))),
    '',
  ];
}
