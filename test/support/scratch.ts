import { mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
const MIN_FREE_BYTES = 4 * 2 ** 30;

/**
 * Folder for test files: in memory if there is enough space. Each test database has a thousand files, and ext4 is slow
 * to create files after mass deletions.
 */
export function scratchRoot(): string {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= MIN_FREE_BYTES ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

export const makeScratchFolder = (prefix: string): string => mkdtempSync(join(scratchRoot(), prefix));
