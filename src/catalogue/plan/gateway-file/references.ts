import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { err, ok, type Result } from '../../../kernel';
import { errorCode } from '../../../platform';

export interface References {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here: it is the folder of the file itself. */
  readonly folder: string;
}

/** It matches `${NAME}` and `${file:PATH}`; `$${` stands for itself. */
const PATTERN = /\$\$\{|\$\{([^}]*)\}/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Such a text is nothing but one reference. */
export const isReference = (text: string): boolean => /^\$\{[^}]+\}$/.test(text);

/** Replaces every reference, or says which one leads nowhere; never repeats what was found. */
export function expandReferences(text: string, references: References | null): Result<string, string> {
  const problems: string[] = [];
  const expanded = text.replaceAll(PATTERN, (whole: string, inside: string | undefined) => {
    if (inside === undefined) return '${';
    if (references === null) {
      problems.push('references are only followed on the command line');
      return whole;
    }
    const found = inside.startsWith('file:')
      ? contentOf(inside.slice('file:'.length), references)
      : variable(inside, references);
    if (found.ok) return found.value;
    problems.push(found.error);
    return whole;
  });
  return problems.length === 0 ? ok(expanded) : err(problems.join('; '));
}

function variable(name: string, { environment }: References): Result<string, string> {
  if (!NAME.test(name)) return err(`"\${${name}}" names no environment variable`);
  const value = environment[name];
  return value === undefined || value === '' ? err(`the environment variable ${name} is not set`) : ok(value);
}

function contentOf(path: string, { folder }: References): Result<string, string> {
  try {
    const content = readFileSync(resolve(folder, path), 'utf8').replace(/\r?\n$/, '');
    return content === '' ? err(`the file ${path} is empty`) : ok(content);
  } catch (error) {
    return err(`the file ${path} cannot be read (${errorCode(error)})`);
  }
}
