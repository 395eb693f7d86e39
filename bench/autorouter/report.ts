import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { type Cells, cellsOf, type Figure, headings } from './measured';

/** Whether it runs as built, from dist, or as it is. */
const here = join(__dirname, '..', '..');
export const project = here.endsWith('dist') ? join(here, '..') : here;

/** What a reader needs to judge or repeat the figures. */
interface Circumstances {
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly machine: string;
  readonly command: string;
  readonly data: 'public' | 'synthetic';
  readonly seeds: readonly number[];
  /** Over the last minute: before, and at the end. */
  readonly load: readonly number[];
}

export const circumstances = (
  words: readonly string[],
  { loadBefore, ...facts }: { loadBefore: number } & Pick<Circumstances, 'data' | 'seeds'>,
): Circumstances => ({
  date: new Date().toISOString().slice(0, 10),
  commit: commit(),
  node: process.version,
  machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Linux ${release()}`,
  command: ['npm run bench:autorouter', ...(words.length > 0 ? ['--', ...words] : [])].join(' '),
  load: [loadBefore, loadavg()[0] ?? NaN],
  ...facts,
});

function commit(): string {
  const git = (...words: string[]): string =>
    execFileSync('git', words, {
      cwd: project,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    const changed = git('status', '--porcelain', '--', 'src/routing/autorouter', 'bench/autorouter') !== '';
    return git('rev-parse', '--short', 'HEAD') + (changed ? '-changed' : '');
  } catch {
    return 'unknown';
  }
}

/** Numbers for programs, a table for people, and nothing kept is lost to a second run. */
export function keep(figures: readonly Figure[], facts: Circumstances): string {
  const folder = join(project, 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const made = facts.data === 'synthetic' ? '-synthetic' : '';
  const first = join(folder, `${facts.date}-${facts.commit}-autorouter${made}`);
  let name = first;
  for (let run = 2; existsSync(`${name}.json`); run += 1) name = `${first}-${run}`;
  writeFileSync(`${name}.json`, `${JSON.stringify({ ...facts, figures }, null, 2)}\n`);
  writeFileSync(`${name}.md`, markdown(figures, facts));
  return name;
}

function markdown(figures: readonly Figure[], facts: Circumstances): string {
  const row = ({ track, what, must, target, measured, verdict, note }: Cells): string =>
    `| ${[track, what, must, target, measured, verdict, note].join(' | ')} |`;
  return [
    `# bench:autorouter, ${facts.date}, commit ${facts.commit}${facts.data === 'synthetic' ? ', SYNTHETIC' : ''}`,
    '',
    `Node ${facts.node}, ${facts.machine}.`,
    `\`${facts.command}\`; splits ${facts.seeds.join(', ')};`,
    `load of the machine before and after: ${facts.load.map((one) => one.toFixed(1)).join(', ')}.`,
    '',
    row(headings),
    '|---|---|--:|--:|--:|---|---|',
    ...figures.map((figure) => row(cellsOf(figure))),
    '',
  ].join('\n');
}
