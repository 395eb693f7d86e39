import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { projectFolder } from '../test/system/program';

/** Facts by which a reader can judge or repeat a run. */
export interface RunFacts {
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly machine: string;
  readonly command: string;
  /** Load average over one minute: before the run and at its end. */
  readonly load: readonly number[];
}

/** Collects the facts at the end of a run; `sources` are the files the figures depend on. */
export function factsOf(
  bench: string,
  args: readonly string[],
  loadBefore: number,
  sources: readonly string[],
): RunFacts {
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(sources),
    node: process.version,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Linux ${release()}`,
    command: [`npm run bench:${bench}`, ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    load: [loadBefore, loadavg()[0] ?? NaN],
  };
}

export const loadOf = ({ load }: RunFacts): string =>
  `load of the machine before and after: ${load.map((average) => average.toFixed(1)).join(', ')}.`;

function commit(sources: readonly string[]): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, {
      cwd: projectFolder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    const isDirty = git('status', '--porcelain', '--', ...sources) !== '';
    return git('rev-parse', '--short', 'HEAD') + (isDirty ? '-changed' : '');
  } catch {
    return 'unknown';
  }
}

/** Saves a JSON file and a Markdown table; never overwrites an earlier run. */
export function saveRun(
  facts: RunFacts,
  figures: readonly object[],
  table: readonly string[],
  kind = '',
): string {
  const folder = join(projectFolder, 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const basePath = join(folder, `${facts.date}-${facts.commit}${kind}`);
  let name = basePath;
  for (let run = 2; existsSync(`${name}.json`); run += 1) name = `${basePath}-${run}`;
  writeFileSync(`${name}.json`, `${JSON.stringify({ ...facts, figures }, null, 2)}\n`);
  writeFileSync(`${name}.md`, table.join('\n'));
  return name;
}
