import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { placement } from './cores';
import { type Figure, held } from './figures';
import { projectFolder } from '../../test/system/program';

/** What a reader needs to know to judge the figures, or to repeat them. */
export interface Circumstances {
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly machine: string;
  readonly placement: string;
  readonly command: string;
  /** Over the last minute: before, and at the end. */
  readonly load: readonly number[];
}

export function circumstances(words: readonly string[], before: number): Circumstances {
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    node: process.version,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Linux ${release()}`,
    placement,
    command: ['npm run bench:gateway', ...(words.length > 0 ? ['--', ...words] : [])].join(' '),
    load: [before, loadavg()[0] ?? NaN],
  };
}

function commit(): string {
  const git = (...words: string[]): string =>
    execFileSync('git', words, {
      cwd: projectFolder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'migrations', 'package-lock.json') !== '';
    return git('rev-parse', '--short', 'HEAD') + (changed ? '-changed' : '');
  } catch {
    return 'unknown';
  }
}

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

/** Kept for comparison with later commits: numbers for programs, a table for people. */
export function keep(figures: readonly Figure[], facts: Circumstances): string {
  const folder = join(projectFolder, 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const name = unusedName(join(folder, `${facts.date}-${facts.commit}`));
  writeFileSync(`${name}.json`, `${JSON.stringify({ ...facts, figures }, null, 2)}\n`);
  writeFileSync(`${name}.md`, markdown(figures, facts));
  return name;
}

/** Nothing that was kept is lost to a second run. */
function unusedName(first: string): string {
  let name = first;
  for (let run = 2; existsSync(`${name}.json`); run += 1) name = `${first}-${run}`;
  return name;
}

function markdown(figures: readonly Figure[], facts: Circumstances): string {
  const row = ({ what, must, aim, measured, spread, verdict, note }: Cells): string =>
    `| ${[what, must, aim, measured, spread, verdict, note].join(' | ')} |`;
  return [
    `# bench:gateway, ${facts.date}, commit ${facts.commit}`,
    '',
    `Node ${facts.node}, ${facts.machine}; ${facts.placement}.`,
    `\`${facts.command}\`; load of the machine before and after: ${facts.load.map((one) => one.toFixed(1)).join(', ')}.`,
    '',
    row(headings),
    '|---|--:|--:|--:|--:|---|---|',
    ...figures.map((figure) => row(cellsOf(figure))),
    '',
  ].join('\n');
}
