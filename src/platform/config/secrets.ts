import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJsonText } from '../../kernel';
import { errorCode } from './error-code';

export const secretProperties = ['sessionSecret', 'keyPepper', 'masterKey'] as const;
export type Secrets = Record<(typeof secretProperties)[number], string>;

/**
 * Generated secrets of an installation without configured ones. A lost pepper would invalidate every key, so a damaged
 * file prevents the start and is never replaced.
 */
export function readOrCreateSecrets(dataFolder: string): Secrets {
  const existing = readSecrets(dataFolder);
  if (existing) return existing;
  const path = fileIn(dataFolder);
  mkdirSync(dataFolder, { recursive: true });
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`;
  const secrets = Object.fromEntries(
    secretProperties.map((name) => [name, randomBytes(32).toString('base64url')]),
  );
  try {
    writeFileSync(draft, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true });
    // A link is created atomically and never replaces a file: of two processes that start at once, one wins.
    linkSync(draft, path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST')
      throw new Error(`the secrets cannot be written (${errorCode(error)})`, { cause: error });
  } finally {
    rmSync(draft, { force: true });
  }
  const stored = readSecrets(dataFolder);
  if (!stored) throw new Error('the secrets vanished while they were written');
  return stored;
}

const fileIn = (dataFolder: string): string => join(dataFolder, 'secrets.json');

export function readSecrets(dataFolder: string): Secrets | undefined {
  let content: string;
  try {
    content = readFileSync(fileIn(dataFolder), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new Error(`secrets.json cannot be read (${errorCode(error)})`, { cause: error });
  }
  const secrets = parse(content);
  if (!secrets) throw new Error('secrets.json is damaged; restore it from a backup');
  return secrets;
}

function parse(content: string): Secrets | undefined {
  try {
    const value = parseJsonText(content) as Partial<Record<string, unknown>> | null;
    const isComplete = secretProperties.every(
      (name) => typeof value?.[name] === 'string' && value[name] !== '',
    );
    return isComplete ? (value as Secrets) : undefined;
  } catch {
    return undefined;
  }
}
