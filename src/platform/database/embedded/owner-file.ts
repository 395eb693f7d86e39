import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJsonText } from '../../../kernel';
import { DataFolderInUse } from './failure';
import { runningProcess } from './processes';

export const OWNER_FILE = 'owner.json';

interface Owner {
  pid: number;
  startedAt: string;
}

/**
 * A lock file for the data folder. Two instances on one cluster would each manage its queue and shutdown, so
 * the second is refused. The lock of a killed process is taken over.
 */
export function claimFolder(folder: string, dataFolder: string): { release(): void } {
  const file = join(folder, OWNER_FILE);
  const own = `${file}.${process.pid}`;
  const startedAt = runningProcess(process.pid)?.startedAt ?? '';
  writeFileSync(own, JSON.stringify({ pid: process.pid, startedAt } satisfies Owner), { mode: 0o600 });
  try {
    while (!linked(own, file)) removeStaleOwner(file, dataFolder);
  } finally {
    rmSync(own, { force: true });
  }
  return { release: () => rmSync(file, { force: true }) };
}

/** A hard link appears with its whole content or not at all, so half an owner is never read. */
function linked(from: string, to: string): boolean {
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

  const aside = `${file}.left-by-${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  // A faster process may have taken over between the look and the move: then it owns the folder.
  if (contents(aside) !== text) linked(aside, file);
  rmSync(aside, { force: true });
}

/** The process that holds a folder, when it lives. */
export function folderOwner(folder: string): number | undefined {
  return runningOwner(contents(join(folder, OWNER_FILE)) ?? '')?.pid;
}

function runningOwner(text: string): Owner | undefined {
  try {
    const owner = parseJsonText(text) as Owner;
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
