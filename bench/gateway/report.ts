import { factsOf, saveRun, loadOf, type RunFacts } from '../saved-run';
import { placement } from './cores';
import { type GatewayFigure, isMet } from './figures';

interface GatewayFacts extends RunFacts {
  readonly placement: string;
}

export const collectRunFacts = (args: readonly string[], loadBefore: number): GatewayFacts => ({
  ...factsOf('gateway', args, loadBefore, ['src', 'migrations', 'package-lock.json']),
  placement,
});

interface GatewayCells {
  readonly what: string;
  readonly must: string;
  readonly aim: string;
  readonly measured: string;
  readonly spread: string;
  readonly verdict: string;
  readonly note: string;
}

export const headings: GatewayCells = {
  what: 'figure',
  must: 'must',
  aim: 'aim',
  measured: 'measured',
  spread: 'middle half',
  verdict: '',
  note: '',
};

export function cellsOf(figure: GatewayFigure): GatewayCells {
  const { what, unit, must, aim, measured, moreIsBetter, note = '' } = figure;
  const bound = moreIsBetter ? '≥ ' : '';
  const verdict = isMet(figure);
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

export const line = ({ what, must, aim, measured, spread, verdict, note }: GatewayCells): string =>
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

/** Saved for comparison with later commits. */
export const saveReport = (figures: readonly GatewayFigure[], facts: GatewayFacts): string =>
  saveRun(facts, figures, markdown(figures, facts));

function markdown(figures: readonly GatewayFigure[], facts: GatewayFacts): string[] {
  const row = ({ what, must, aim, measured, spread, verdict, note }: GatewayCells): string =>
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
