import { type FileHandle, open } from 'node:fs/promises';
import type { Sink } from './registered-tap';

const NEWLINE = 0x0a;

/**
 * Appends one line of JSON per settled request. The file is opened for each batch, so that an operator can rename or
 * truncate it at any time.
 */
export const fileSink = (path: string): Sink => ({
  ...{ name: 'file', kind: 'file', target: path, batchSize: 500 },
  async send(records) {
    const file = await open(path, 'a+', 0o600);
    try {
      const { size } = await file.stat();
      const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
      const separator = (await endsMidLine(file, size)) ? '\n' : '';
      await append(file, size, separator + lines);
      return null;
    } finally {
      await file.close();
    }
  },
});

/** A killed process might have left an incomplete line. */
async function endsMidLine(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { bytesRead, buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return bytesRead === 1 && buffer[0] !== NEWLINE;
}

/** Writes all text to disk, or undoes a partial write. */
async function append(file: FileHandle, size: number, text: string): Promise<void> {
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await truncateTo(file, size).catch(() => undefined);
    throw error;
  }
}

/** A file that was truncated meanwhile must not grow again. */
async function truncateTo(file: FileHandle, size: number): Promise<void> {
  const { size: currentSize } = await file.stat();
  if (currentSize > size) await file.truncate(size);
}
