import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerAccount } from './account';

/** A finished segment of the write-ahead log waits here until it is shipped to where backups are kept. */
export const archiveFolderOf = (folder: string): string => join(folder, 'archive');

/**
 * The server archives by a module that comes with it: it copies, makes durable, and renames. The service closes the
 * segments, as the server's own timer compares wall clocks and stops while one that was set back catches up.
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

/** The folder is the server's, which may run under another account than the service. */
export function makeArchiveFolder(folder: string, account: ServerAccount | undefined): string {
  const archive = archiveFolderOf(folder);
  makeServerFolder(archive, account);
  return archive;
}

export function makeServerFolder(folder: string, account: ServerAccount | undefined): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account === undefined) return;
  chownSync(folder, account.uid, account.gid);
  chmodSync(folder, 0o700);
}
