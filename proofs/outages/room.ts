import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { GatewayNode } from './testbed';

/** A way to take the room on the journal's disk away, and to give it back. */
export interface Room {
  readonly how: string;
  /** The disk itself is not full for this reason. */
  readonly standsIn?: string;
  take(node: GatewayNode): void;
  giveBack(node: GatewayNode): void;
  /** Leaves nothing behind. */
  close(): void;
}

const SIZE = '2m';
const CHUNK_BYTES = 4_096;

/** A file system of its own for the journal, where one may be mounted; else the process may not make files longer. */
export function roomFor(dataFolder: string): Room {
  const folder = join(dataFolder, 'journal');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return smallDisk(folder, SIZE) ?? limitedFiles();
}

/** Mounts a file system of its own on a folder; null where that is not allowed. */
export function smallDisk(folder: string, size: string, mode = '700'): Room | null {
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
    take: () => fill(ballast),
    giveBack: () => rmSync(ballast),
    close: () => void execFileSync('umount', [folder]),
  };
}

function fill(file: string): void {
  const handle = openSync(file, 'w');
  try {
    for (;;) writeSync(handle, Buffer.alloc(CHUNK_BYTES));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(handle);
  }
}

function limitedFiles(): Room {
  const limit = (node: GatewayNode, bytes: string): void =>
    void execFileSync('prlimit', ['--pid', String(node.program.pid), `--fsize=${bytes}:unlimited`]);
  return {
    how: 'a limit on the length of its files',
    standsIn: 'nothing may be mounted; its files may not grow instead',
    take: (node) => limit(node, '1'),
    giveBack: (node) => limit(node, 'unlimited'),
    close: () => undefined,
  };
}
