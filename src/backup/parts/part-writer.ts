import type { Part, PartStore } from './part-store';

/** A part is held in memory while it is packed and sent. Its digests hold up requests for a few milliseconds. */
const LARGEST_PART = 2 * 1024 * 1024;
/** Where the content suggests a cut, a part as long as this ends. */
const SUGGESTED_PART = 1024 * 1024;

export interface StoredFile {
  readonly path: string;
  readonly bytes: number;
  readonly parts: readonly Part[];
}

/** Cuts a stream of bytes into parts. Cuts at the beginnings of things let a second try find the same parts again. */
export class PartWriter {
  private readonly parts: Part[] = [];
  private readonly buffer = Buffer.allocUnsafe(LARGEST_PART);
  private filled = 0;
  private total = 0;

  constructor(
    private readonly store: PartStore,
    private readonly path: string,
  ) {}

  async write(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const taken = bytes.copy(this.buffer, this.filled, at);
      at += taken;
      this.filled += taken;
      this.total += taken;
      if (this.filled === LARGEST_PART) await this.flush();
    }
  }

  /** A good place for a cut. */
  async suggestCut(): Promise<void> {
    if (this.filled >= SUGGESTED_PART) await this.flush();
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
