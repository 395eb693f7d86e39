import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import type { ExtensionTables, SqlFile } from '../platform';
import { ExtensionRefused } from './extension-refused';
import type { LoadedExtension } from './loaded-extension';

const FILE = /^(\d{3})-[a-z0-9]+(?:-[a-z0-9]+)*\.sql$/;
const LONGEST_NAME = 100;
const MOST_BYTES = 1024 * 1024;

type Owner = Pick<LoadedExtension, 'id' | 'folder' | 'needs' | 'parts'>;

/** Those with migrations have tables; one that only needs the port `db` has a role that reads the published views. */
export const tablesOf = (extensions: readonly Owner[]): ExtensionTables[] =>
  extensions
    .filter(({ needs, parts }) => parts.migrations !== undefined || needs.includes('db'))
    .map((extension) => ({ extension: extension.id, files: migrationFilesOf(extension) }));

/** The files of an extension in the order in which they run. */
export function migrationFilesOf({ id, folder, parts: { migrations } }: Omit<Owner, 'needs'>): SqlFile[] {
  if (migrations === undefined) return [];
  const place = folderOf(id, folder, migrations);
  const names = readdirSync(place)
    .filter((name) => !name.startsWith('.'))
    .sort();
  const numbers = new Map<string, string>();
  for (const name of names) {
    const [, number] = FILE.exec(name) ?? [];
    if (number === undefined || name.length > LONGEST_NAME)
      throw new ExtensionRefused(
        id,
        `${name} of its migrations is not named as 001-what-it-does.sql, in small letters, digits and hyphens`,
      );
    const other = numbers.get(number);
    if (other !== undefined)
      throw new ExtensionRefused(id, `its migrations ${other} and ${name} have one number`);
    numbers.set(number, name);
  }
  return names.map((name) => fileOf(id, join(place, name), name));
}

/** It lies in the folder of its extension, links included. */
function folderOf(id: string, folder: string, migrations: unknown): string {
  if (typeof migrations !== 'string') throw new ExtensionRefused(id, 'migrations is no path of a folder');
  let place: string;
  try {
    place = realpathSync(resolve(folder, migrations));
    if (!statSync(place).isDirectory()) throw new Error('no folder');
  } catch (cause) {
    throw new ExtensionRefused(id, `it has no folder ${migrations} for its migrations`, { cause });
  }
  const inside = relative(realpathSync(folder), place);
  if (inside.startsWith('..') || isAbsolute(inside))
    throw new ExtensionRefused(id, `its migrations lie outside of it, in ${place}`);
  return place;
}

function fileOf(id: string, path: string, name: string): SqlFile {
  const entry = statSync(path);
  if (!entry.isFile() || entry.size > MOST_BYTES)
    throw new ExtensionRefused(id, `its migration ${name} is no file of at most 1 MiB`);
  const text = textOf(id, path, name);
  return { name, text, digest: createHash('sha256').update(text).digest('hex') };
}

/** Ends of lines are made one: a checkout on another system does not change a migration. */
function textOf(id: string, path: string, name: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true })
      .decode(readFileSync(path))
      .replaceAll('\r\n', '\n');
    if (!text.includes('\0')) return text;
  } catch (cause) {
    throw new ExtensionRefused(id, `its migration ${name} is no text in UTF-8`, { cause });
  }
  throw new ExtensionRefused(id, `its migration ${name} has a NUL character`);
}
