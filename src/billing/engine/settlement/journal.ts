import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { FrameBuffer } from './journal-frames';
import { journalHeader } from './journal-owner';

/** File operations of the journal, so that tests can simulate a full disk. */
export interface JournalDisk {
  open(path: string): number;
  write(file: number, bytes: Buffer): number;
  truncate(file: number, length: number): void;
  close(file: number): void;
  remove(path: string): void;
}

const realDisk: JournalDisk = {
  open: (path) => openSync(path, 'a', 0o600),
  write: (file, bytes) => writeSync(file, bytes),
  truncate: (file, length) => ftruncateSync(file, length),
  close: (file) => closeSync(file),
  remove: (path) => rmSync(path, { force: true }),
};

interface Segment {
  readonly path: string;
  readonly file: number;
  bytes: number;
  /** Number of records in the segment that are not committed. */
  open: number;
}

export interface JournalOptions {
  readonly folder: string;
  readonly node: string;
  readonly segmentBytes?: number;
  readonly disk?: JournalDisk;
}

/**
 * Settled requests that are not committed yet, in files that outlive the process. Records leave in order; a segment is
 * emptied or removed once all its records are committed.
 */
export class Journal {
  private readonly disk: JournalDisk;
  private readonly segmentBytes: number;
  private readonly frames = new FrameBuffer();
  private readonly segments: Segment[] = [];
  private segmentCount = 0;
  private error: unknown;

  constructor(private readonly options: JournalOptions) {
    this.disk = options.disk ?? realDisk;
    this.segmentBytes = options.segmentBytes ?? 16 * 1024 * 1024;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    this.startSegment();
  }

  /** Reason why the last write failed; undefined once a write succeeds. */
  get writeError(): unknown {
    return this.error;
  }

  get bytes(): number {
    return this.segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }

  /**
   * Writes the records, several per payload, with one system call. Returns false if they are not completely in the
   * file.
   */
  write(payloads: readonly string[], records: number): boolean {
    for (const payload of payloads) this.frames.add(payload);
    const isWritten = this.writeFrames(records);
    this.frames.clear();
    return isWritten;
  }

  probe(): boolean {
    return this.error === undefined || this.write([], 0);
  }

  /** Releases the oldest records, which are committed. */
  release(count: number): void {
    let remaining = count;
    while (remaining > 0 && this.segments.length > 0) {
      const oldest = this.segments[0]!;
      const released = Math.min(remaining, oldest.open);
      oldest.open -= released;
      remaining -= released;
      if (oldest.open > 0) return;
      if (this.segments.length > 1) this.discard(this.segments.shift()!);
      else return this.empty(oldest);
    }
  }

  /**
   * Keeps uncommitted records on the disk for the next start. Also keeps the last file while the node holds money,
   * because the next start finds the owner there.
   */
  close(isNothingHeld = true): void {
    const last = this.segments.at(-1);
    for (const segment of this.segments) {
      if (segment.open === 0 && (isNothingHeld || segment !== last)) this.discard(segment);
      else this.disk.close(segment.file);
    }
    this.segments.length = 0;
  }

  private writeFrames(records: number): boolean {
    try {
      const segment = this.current();
      if (records === 0) this.frames.add(journalHeader(this.options.node));
      const bytes = this.frames.content;
      this.append(segment, bytes);
      segment.open += records;
      this.error = undefined;
      return true;
    } catch (error) {
      this.error = error;
      return false;
    }
  }

  private append(segment: Segment, bytes: Buffer): void {
    try {
      if (this.disk.write(segment.file, bytes) !== bytes.length) throw noSpaceError();
      segment.bytes += bytes.length;
    } catch (error) {
      // A partial frame would hide every later one from the replay.
      this.disk.truncate(segment.file, segment.bytes);
      throw error;
    }
  }

  private current(): Segment {
    const newest = this.segments.at(-1);
    return newest !== undefined && newest.bytes < this.segmentBytes ? newest : this.startSegment();
  }

  private startSegment(): Segment {
    this.segmentCount += 1;
    const path = join(this.options.folder, `${this.options.node}.${this.segmentCount}.journal`);
    const segment = { path, file: this.disk.open(path), bytes: 0, open: 0 };
    const header = new FrameBuffer();
    header.add(journalHeader(this.options.node));
    try {
      this.append(segment, header.content);
    } catch (error) {
      this.discard(segment);
      throw error;
    }
    this.segments.push(segment);
    return segment;
  }

  private empty(segment: Segment): void {
    if (segment.bytes < this.segmentBytes / 16) return;
    this.segments.length = 0;
    try {
      this.startSegment();
      this.discard(segment);
    } catch (error) {
      this.segments.push(segment);
      this.error = error;
    }
  }

  private discard(segment: Segment): void {
    this.disk.close(segment.file);
    this.disk.remove(segment.path);
  }
}

const noSpaceError = (): Error =>
  Object.assign(new Error('no space left on device: the disk took only a part of a write'), {
    code: 'ENOSPC',
  });
