import type { BackupPart, PartStore } from './part-store';

/** A part is held in memory while it is packed and sent; hashing it delays requests by a few milliseconds. */
const MAX_PART_BYTES = 2 * 1024 * 1024;
/** Minimum length of a part that ends at a suggested cut. */
const MIN_SUGGESTED_PART_BYTES = 1024 * 1024;

export interface StoredFile {
  readonly path: string;
  readonly bytes: number;
  readonly parts: readonly BackupPart[];
}

/** Cuts a stream of bytes into parts. Cuts at file boundaries let a second attempt produce the same parts again. */
export class PartWriter {
  private readonly parts: BackupPart[] = [];
  private readonly buffer = Buffer.allocUnsafe(MAX_PART_BYTES);
  private filled = 0;
  private total = 0;

  constructor(
    private readonly store: PartStore,
    private readonly path: string,
  ) {}

  async write(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const copied = bytes.copy(this.buffer, this.filled, at);
      at += copied;
      this.filled += copied;
      this.total += copied;
      if (this.filled === MAX_PART_BYTES) await this.flush();
    }
  }

  /** Marks a suitable position for a cut. */
  async suggestCut(): Promise<void> {
    if (this.filled >= MIN_SUGGESTED_PART_BYTES) await this.flush();
  }

  async end(): Promise<StoredFile> {
    await this.flush();
    return { path: this.path, bytes: this.total, parts: this.parts };
  }

  private async flush(): Promise<void> {
    if (this.filled === 0) return;
    this.parts.push(await this.store.put(this.buffer.subarray(0, this.filled)));
    this.filled = 0;
  }
}
