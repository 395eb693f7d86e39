import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { projectFolder } from '../../test/system/program';

const folder = resolve(projectFolder, 'docs/runbooks');

/** Instructions of a page of `docs/runbooks`. */
export interface Runbook {
  readonly name: string;
  /** Patterns that `grep -E` searches for in the metrics. */
  readonly patterns: readonly RegExp[];
  /** CLI commands as written. */
  readonly commands: readonly string[];
  readonly statements: readonly string[];
  readonly queries: readonly string[];
}

const blocksOf = (text: string, language: string): string[] =>
  [...text.matchAll(/^```(\w+)\n(.*?)^```/gms)].flatMap(([, kind, block = '']) =>
    kind === language ? [block] : [],
  );

const inline = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);

function readRunbook(file: string): Runbook {
  const text = readFileSync(join(folder, file), 'utf8');
  const code = [...blocksOf(text, 'sh').flatMap((block) => block.split('\n')), ...inline(text)];
  return {
    name: file.replace(/\.md$/, ''),
    patterns: [...text.matchAll(/9464\/metrics \| grep -E '([^']+)'/g)].map(
      ([, pattern = '']) => new RegExp(pattern, 'm'),
    ),
    commands: code.flatMap((line) => /^npm run cli -- (.+)$/.exec(line)?.[1] ?? []),
    statements: [
      ...blocksOf(text, 'sql'),
      ...inline(text).filter((each) => each.startsWith('SELECT') && !/\bPID\b/.test(each)),
    ],
    queries: blocksOf(text, 'promql').flatMap((block) => block.trim().split('\n')),
  };
}

export const runbooks: readonly Runbook[] = readdirSync(folder).map(readRunbook);
