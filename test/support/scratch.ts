import { mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
const NEEDED_BYTES = 4 * 2 ** 30;

/**
 * Tests keep files here while they run: in memory where there is room. Every test database is a thousand
 * files, and ext4 searches past those that were deleted in the last seconds for every new one.
 */
export function scratch(): string {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= NEEDED_BYTES ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

export const makeScratchFolder = (prefix: string): string => mkdtempSync(join(scratch(), prefix));
