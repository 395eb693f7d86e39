import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { embeddedDatabaseIn, unfinishedRestoreIn } from '../../config/data-folder';
import { canEnter, type ServerAccount } from './account';
import { clusterPaths } from './cluster';
import { EmbeddedPostgresFailure } from './failure';

/** Folder that root uses for files which an unprivileged server cannot reach below the data folder (a closed home). */
export const DEFAULT_SHARED_FOLDER = '/var/lib/switchboard';

export const embeddedFolderOf = embeddedDatabaseIn;

/** States where the server is if it could not be placed below the data folder itself. */
const locationFileOf = (dataFolder: string): string => join(embeddedFolderOf(dataFolder), 'location');

export const unfinishedRestoreOf = unfinishedRestoreIn;

/** Folder chosen by an earlier start; undefined before the first. */
export function serverFolder(dataFolder: string): string | undefined {
  const locationFile = locationFileOf(dataFolder);
  if (!existsSync(locationFile)) {
    return existsSync(clusterPaths(embeddedFolderOf(dataFolder)).data)
      ? embeddedFolderOf(dataFolder)
      : undefined;
  }
  const folder = readFileSync(locationFile, 'utf8');
  if (existsSync(folder)) return folder;
  throw new EmbeddedPostgresFailure(
    `The database of ${dataFolder} was in ${folder}, which is gone. ` +
      `Restore that folder, or remove ${locationFile} to begin with an empty database.`,
  );
}

/** Below the data folder if the server's account can get there; root's home, for one, is closed to it. */
export function chooseFolder(
  dataFolder: string,
  sharedFolder: string,
  account: ServerAccount | undefined,
): string {
  const inside = embeddedFolderOf(dataFolder);
  if (!account || canEnter(inside, account)) return inside;
  createFolder(sharedFolder, account);
  const outside = mkdtempSync(join(sharedFolder, 'data-'));
  chmodSync(outside, 0o711);
  if (!canEnter(outside, account)) {
    rmSync(outside, { recursive: true });
    throw new EmbeddedPostgresFailure(
      `PostgreSQL does not run as root, and the account it gets from root cannot enter ${dataFolder} or ${sharedFolder}. ` +
        'Run this as the user that the data folder is for, such as: sudo -u switchboard …',
    );
  }
  writeFileSync(locationFileOf(dataFolder), outside, { mode: 0o600, flush: true });
  return outside;
}

/** Folders created by root stay accessible to the server's account under any umask; other accounts cannot list them. */
export function createFolder(folder: string, account: ServerAccount | undefined): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!first || !account) return;
  for (let created = folder; created.length >= first.length; created = dirname(created)) {
    chmodSync(created, 0o711);
  }
}

export function removeServerFolder(dataFolder: string): void {
  const locationFile = locationFileOf(dataFolder);
  if (existsSync(locationFile)) rmSync(readFileSync(locationFile, 'utf8'), { recursive: true, force: true });
  rmSync(embeddedFolderOf(dataFolder), { recursive: true, force: true });
}
