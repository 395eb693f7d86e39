import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import type { ExtensionTables, SqlFile } from '../platform';
import { ExtensionRefused } from './extension-refused';
import type { LoadedExtension } from './loaded-extension';

const FILE = /^(\d{3})-[a-z0-9]+(?:-[a-z0-9]+)*\.sql$/;
const MAX_NAME_LENGTH = 100;
const MAX_FILE_BYTES = 1024 * 1024;

type MigrationOwner = Pick<LoadedExtension, 'id' | 'folder' | 'needs' | 'parts'>;

/**
 * Extensions with migrations have tables; one that only needs the port `db` has a role that reads the published views.
 */
export const tablesOf = (extensions: readonly MigrationOwner[]): ExtensionTables[] =>
  extensions
    .filter(({ needs, parts }) => parts.migrations !== undefined || needs.includes('db'))
    .map((extension) => ({ extension: extension.id, files: readMigrationFiles(extension) }));

/** Returns the migration files of an extension in the order in which they run. */
export function readMigrationFiles({
  id,
  folder,
  parts: { migrations },
}: Omit<MigrationOwner, 'needs'>): SqlFile[] {
  if (migrations === undefined) return [];
  const migrationsFolder = resolveMigrationsFolder(id, folder, migrations);
  const names = readdirSync(migrationsFolder)
    .filter((name) => !name.startsWith('.'))
    .sort();
  const numbers = new Map<string, string>();
  for (const name of names) {
    const [, number] = FILE.exec(name) ?? [];
    if (number === undefined || name.length > MAX_NAME_LENGTH)
      throw new ExtensionRefused(
        id,
        `${name} of its migrations is not named as 001-what-it-does.sql, in small letters, digits and hyphens`,
      );
    const other = numbers.get(number);
    if (other !== undefined)
      throw new ExtensionRefused(id, `its migrations ${other} and ${name} have one number`);
    numbers.set(number, name);
  }
  return names.map((name) => readMigrationFile(id, join(migrationsFolder, name), name));
}

/** Resolves the migrations folder, which must be inside the extension's folder even after following links. */
function resolveMigrationsFolder(id: string, folder: string, migrations: unknown): string {
  if (typeof migrations !== 'string') throw new ExtensionRefused(id, 'migrations is no path of a folder');
  let migrationsFolder: string;
  try {
    migrationsFolder = realpathSync(resolve(folder, migrations));
    if (!statSync(migrationsFolder).isDirectory()) throw new Error('no folder');
  } catch (cause) {
    throw new ExtensionRefused(id, `it has no folder ${migrations} for its migrations`, { cause });
  }
  const inside = relative(realpathSync(folder), migrationsFolder);
  if (inside.startsWith('..') || isAbsolute(inside))
    throw new ExtensionRefused(id, `its migrations lie outside of it, in ${migrationsFolder}`);
  return migrationsFolder;
}

function readMigrationFile(id: string, path: string, name: string): SqlFile {
  const entry = statSync(path);
  if (!entry.isFile() || entry.size > MAX_FILE_BYTES)
    throw new ExtensionRefused(id, `its migration ${name} is no file of at most 1 MiB`);
  const text = readText(id, path, name);
  return { name, text, digest: createHash('sha256').update(text).digest('hex') };
}

/** Normalises line endings, so that a checkout on another system does not change the digest. */
function readText(id: string, path: string, name: string): string {
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
