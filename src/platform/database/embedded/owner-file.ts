import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJsonText } from '../../../kernel';
import { DataFolderInUse } from './failure';
import { runningProcess } from './processes';

export const OWNER_FILE = 'owner.json';

interface FolderOwner {
  pid: number;
  startedAt: string;
}

/**
 * Locks the data folder, since two instances on one cluster would each manage its queue and shutdown. The lock of a
 * killed process is taken over.
 */
export function claimFolder(folder: string, dataFolder: string): { release(): void } {
  const file = join(folder, OWNER_FILE);
  const draft = `${file}.${process.pid}`;
  const startedAt = runningProcess(process.pid)?.startedAt ?? '';
  writeFileSync(draft, JSON.stringify({ pid: process.pid, startedAt } satisfies FolderOwner), {
    mode: 0o600,
  });
  try {
    while (!tryLink(draft, file)) removeStaleOwner(file, dataFolder);
  } finally {
    rmSync(draft, { force: true });
  }
  return { release: () => rmSync(file, { force: true }) };
}

/** A hard link is created atomically, so a partial owner is never read. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function removeStaleOwner(file: string, dataFolder: string): void {
  const text = contents(file);
  if (text === undefined) return;
  const owner = runningOwner(text);
  if (owner) throw new DataFolderInUse(dataFolder, owner.pid);

  const staleFile = `${file}.left-by-${process.pid}`;
  try {
    renameSync(file, staleFile);
  } catch {
    return;
  }
  // If a faster process took over between the check and the rename, it owns the folder.
  if (contents(staleFile) !== text) tryLink(staleFile, file);
  rmSync(staleFile, { force: true });
}

/** Process that holds a folder; undefined if it is not running. */
export function folderOwner(folder: string): number | undefined {
  return runningOwner(contents(join(folder, OWNER_FILE)) ?? '')?.pid;
}

function runningOwner(text: string): FolderOwner | undefined {
  try {
    const owner = parseJsonText(text) as FolderOwner;
    return runningProcess(owner.pid)?.startedAt === owner.startedAt ? owner : undefined;
  } catch {
    return undefined;
  }
}

function contents(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
