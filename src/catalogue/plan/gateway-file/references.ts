import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { err, ok, type Result } from '../../../kernel';
import { errorCode } from '../../../platform';

export interface References {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
}

/** Matches `${NAME}` and `${file:PATH}`; `$${` escapes `${`. */
const PATTERN = /\$\$\{|\$\{([^}]*)\}/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export const isReference = (text: string): boolean => /^\$\{[^}]+\}$/.test(text);

/** Replaces every reference, or names those that cannot be resolved; never repeats a resolved value. */
export function expandReferences(text: string, references: References | null): Result<string, string> {
  const problems: string[] = [];
  const expanded = text.replaceAll(PATTERN, (match: string, inside: string | undefined) => {
    if (inside === undefined) return '${';
    if (references === null) {
      problems.push('references are only followed on the command line');
      return match;
    }
    const result = inside.startsWith('file:')
      ? readContent(inside.slice('file:'.length), references)
      : readVariable(inside, references);
    if (result.ok) return result.value;
    problems.push(result.error);
    return match;
  });
  return problems.length === 0 ? ok(expanded) : err(problems.join('; '));
}

function readVariable(name: string, { environment }: References): Result<string, string> {
  if (!NAME.test(name)) return err(`"\${${name}}" names no environment variable`);
  const value = environment[name];
  return value === undefined || value === '' ? err(`the environment variable ${name} is not set`) : ok(value);
}

function readContent(path: string, { folder }: References): Result<string, string> {
  try {
    const content = readFileSync(resolve(folder, path), 'utf8').replace(/\r?\n$/, '');
    return content === '' ? err(`the file ${path} is empty`) : ok(content);
  } catch (error) {
    return err(`the file ${path} cannot be read (${errorCode(error)})`);
  }
}
