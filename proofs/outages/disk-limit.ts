import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { GatewayProcess } from './testbed';

/** Fills the disk of the journal and frees it again. */
export interface DiskLimit {
  readonly how: string;
  /** Reason for not filling the disk itself; undefined if it is filled. */
  readonly fallbackReason?: string;
  fill(node: GatewayProcess): void;
  free(node: GatewayProcess): void;
  /** Removes every trace. */
  close(): void;
}

const DISK_SIZE = '2m';
const CHUNK_BYTES = 4_096;

/** Mounts a small file system for the journal if permitted; otherwise limits the file size of the process. */
export function createDiskLimit(dataFolder: string): DiskLimit {
  const folder = join(dataFolder, 'journal');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return mountSmallDisk(folder, DISK_SIZE) ?? fileSizeLimit();
}

/** Mounts a small file system on a folder; null if that is not permitted. */
export function mountSmallDisk(folder: string, size: string, mode = '700'): DiskLimit | null {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=${mode}`, 'tmpfs', folder], {
      stdio: 'ignore',
    });
  } catch {
    return null;
  }
  const ballast = join(folder, 'ballast');
  return {
    how: `a file system of ${size}`,
    fill: () => fillFile(ballast),
    free: () => rmSync(ballast),
    close: () => void execFileSync('umount', [folder]),
  };
}

function fillFile(file: string): void {
  const handle = openSync(file, 'w');
  try {
    for (;;) writeSync(handle, Buffer.alloc(CHUNK_BYTES));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(handle);
  }
}

function fileSizeLimit(): DiskLimit {
  const limit = (node: GatewayProcess, bytes: string): void =>
    void execFileSync('prlimit', ['--pid', String(node.program.pid), `--fsize=${bytes}:unlimited`]);
  return {
    how: 'a limit on the length of its files',
    fallbackReason: 'nothing may be mounted; its files may not grow instead',
    fill: (node) => limit(node, '1'),
    free: (node) => limit(node, 'unlimited'),
    close: () => undefined,
  };
}
