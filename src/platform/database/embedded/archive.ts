import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerAccount } from './account';

/** Folder where finished segments of the write-ahead log wait until they are shipped to the backup target. */
export const archiveFolderOf = (folder: string): string => join(folder, 'archive');

/**
 * The server archives with a bundled module. The service closes the segments, as the server's own timer uses the wall
 * clock and stops after it was set back.
 */
export function archiveSettings(folder: string | null): string[] {
  if (folder === null) return ['archive_mode=off'];
  return [
    'archive_mode=on',
    'archive_library=basic_archive',
    `basic_archive.archive_directory=${folder}`,
    'archive_timeout=0',
  ];
}

/** The folder belongs to the server, which might run under another account than the service. */
export function createArchiveFolder(folder: string, account: ServerAccount | undefined): string {
  const archive = archiveFolderOf(folder);
  createServerFolder(archive, account);
  return archive;
}

export function createServerFolder(folder: string, account: ServerAccount | undefined): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account === undefined) return;
  chownSync(folder, account.uid, account.gid);
  chmodSync(folder, 0o700);
}
