import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { projectFolder } from '../test/system/program';

/** A reader judges the figures of a run, or repeats it, by these facts. */
export interface RunFacts {
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly machine: string;
  readonly command: string;
  /** Over the last minute: before, and at the end. */
  readonly load: readonly number[];
}

/** At the end of a run; `sources` is what the figures depend on. */
export function factsOf(
  bench: string,
  words: readonly string[],
  loadBefore: number,
  sources: readonly string[],
): RunFacts {
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(sources),
    node: process.version,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Linux ${release()}`,
    command: [`npm run bench:${bench}`, ...(words.length > 0 ? ['--', ...words] : [])].join(' '),
    load: [loadBefore, loadavg()[0] ?? NaN],
  };
}

export const loadOf = ({ load }: RunFacts): string =>
  `load of the machine before and after: ${load.map((one) => one.toFixed(1)).join(', ')}.`;

function commit(sources: readonly string[]): string {
  const git = (...words: string[]): string =>
    execFileSync('git', words, {
      cwd: projectFolder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    const changed = git('status', '--porcelain', '--', ...sources) !== '';
    return git('rev-parse', '--short', 'HEAD') + (changed ? '-changed' : '');
  } catch {
    return 'unknown';
  }
}

/** Numbers for programs, a table for people, and nothing that was kept is lost to a second run. */
export function keepRun(
  facts: RunFacts,
  figures: readonly object[],
  table: readonly string[],
  kind = '',
): string {
  const folder = join(projectFolder, 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const first = join(folder, `${facts.date}-${facts.commit}${kind}`);
  let name = first;
  for (let run = 2; existsSync(`${name}.json`); run += 1) name = `${first}-${run}`;
  writeFileSync(`${name}.json`, `${JSON.stringify({ ...facts, figures }, null, 2)}\n`);
  writeFileSync(`${name}.md`, table.join('\n'));
  return name;
}
