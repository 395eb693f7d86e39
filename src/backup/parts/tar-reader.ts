import { BackupError } from '../backup-error';

export interface TarEntry {
  readonly path: string;
  readonly kind: 'file' | 'folder';
  readonly bytes: number;
}

export interface TarVisitor {
  start(entry: TarEntry): Promise<void> | void;
  data(bytes: Buffer): Promise<void> | void;
  /** Called at the end of a file. */
  end(): Promise<void> | void;
}

const BLOCK = 512;

/** Reads the archives of a base backup: ustar, with plain files and folders, and sizes beyond 8 GB in binary. */
export class TarReader {
  private header = Buffer.alloc(0);
  private remaining = 0;
  private padding = 0;
  private hasEnded = false;

  constructor(private readonly visitor: TarVisitor) {}

  get isBetween(): boolean {
    return this.remaining === 0 && this.padding === 0 && this.header.length === 0;
  }

  async write(bytes: Buffer): Promise<void> {
    for (let rest = bytes; rest.length > 0 && !this.hasEnded;) rest = rest.subarray(await this.consume(rest));
  }

  /** Throws if the archive ends in the middle of an entry. */
  finish(): void {
    if (this.remaining > 0 || this.header.length > 0)
      throw new BackupError('The archive of the base backup ends too early.');
  }

  /** Returns the number of bytes consumed. */
  private async consume(bytes: Buffer): Promise<number> {
    if (this.remaining > 0) return this.consumeData(bytes);
    if (this.padding > 0) {
      const skipped = Math.min(this.padding, bytes.length);
      this.padding -= skipped;
      return skipped;
    }
    const headerBytes = Math.min(BLOCK - this.header.length, bytes.length);
    this.header = Buffer.concat([this.header, bytes.subarray(0, headerBytes)]);
    if (this.header.length === BLOCK) {
      const block = this.header;
      this.header = Buffer.alloc(0);
      await this.startEntry(block);
    }
    return headerBytes;
  }

  private async consumeData(bytes: Buffer): Promise<number> {
    const piece = bytes.subarray(0, this.remaining);
    await this.visitor.data(piece);
    this.remaining -= piece.length;
    if (this.remaining === 0) await this.visitor.end();
    return piece.length;
  }

  private async startEntry(block: Buffer): Promise<void> {
    if (block.every((byte) => byte === 0)) {
      this.hasEnded = true;
      return;
    }
    const entry = entryOf(block);
    await this.visitor.start(entry);
    if (entry.kind === 'folder') return;
    this.remaining = entry.bytes;
    this.padding = (BLOCK - (entry.bytes % BLOCK)) % BLOCK;
    if (entry.bytes === 0) await this.visitor.end();
  }
}

export const isOutside = (path: string): boolean => path.startsWith('/') || path.split('/').includes('..');

const kinds: Readonly<Record<string, TarEntry['kind']>> = { '0': 'file', '\0': 'file', '5': 'folder' };

function entryOf(block: Buffer): TarEntry {
  const path = textIn(block, 0, 100);
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (parseInt(textIn(block, 148, 8), 8) !== sum)
    throw new BackupError('The archive of the base backup is damaged: a header does not fit its checksum.');
  const kind = kinds[String.fromCharCode(block[156] ?? 0)];
  if (kind === undefined)
    throw new BackupError(`The base backup has ${path}, which is neither file nor folder.`);
  if (isOutside(path)) throw new BackupError(`The base backup has ${path}, which lies outside of it.`);
  return {
    path: path.replace(/^\.\//, '').replace(/\/$/, ''),
    kind,
    bytes: kind === 'file' ? sizeIn(block) : 0,
  };
}

function textIn(block: Buffer, from: number, length: number): string {
  const field = block.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? length : end).toString('utf8');
}

function sizeIn(block: Buffer): number {
  const field = block.subarray(124, 136);
  const isBinary = ((field[0] ?? 0) & 0x80) !== 0;
  return isBinary ? Number(field.readBigUInt64BE(4)) : parseInt(textIn(block, 124, 12).trim() || '0', 8);
}
