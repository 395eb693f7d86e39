import { type FileHandle, open } from 'node:fs/promises';
import type { Sink } from './held-tap';

const NEWLINE = 0x0a;

/**
 * One line of JSON a settled request. The file is opened for each batch and only ever appended to, so that an operator
 * may rename or truncate it at any time.
 */
export const fileSink = (path: string): Sink => ({
  ...{ name: 'file', kind: 'file', target: path, batchSize: 500 },
  async send(records) {
    const file = await open(path, 'a+', 0o600);
    try {
      const { size } = await file.stat();
      const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
      const begin = (await isTorn(file, size)) ? '\n' : '';
      await append(file, size, begin + lines);
      return null;
    } finally {
      await file.close();
    }
  },
});

/** A process that was killed may have left half a line. */
async function isTorn(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { bytesRead, buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return bytesRead === 1 && buffer[0] !== NEWLINE;
}

/** All of it is on the disk, or what was written is taken back. */
async function append(file: FileHandle, size: number, text: string): Promise<void> {
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await takeBack(file, size).catch(() => undefined);
    throw error;
  }
}

/** A file that was truncated meanwhile must not grow again. */
async function takeBack(file: FileHandle, size: number): Promise<void> {
  const { size: now } = await file.stat();
  if (now > size) await file.truncate(size);
}
