import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { FrameBuffer } from './journal-frames';
import { journalHeader } from './journal-owner';

/** The file operations of the journal, so that a test can simulate a full disk. */
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
  /** Records in it that are not committed yet. */
  open: number;
}

export interface JournalOptions {
  readonly folder: string;
  readonly node: string;
  /** A segment longer than this is followed by another. */
  readonly segmentBytes?: number;
  readonly disk?: JournalDisk;
}

/**
 * The settled requests that are not committed yet, in files that outlive the process. Records leave in the order they
 * came; a segment is emptied or removed once all of its records are committed.
 */
export class Journal {
  private readonly disk: JournalDisk;
  private readonly segmentBytes: number;
  private readonly frames = new FrameBuffer();
  private readonly segments: Segment[] = [];
  private made = 0;
  private fault: unknown;

  constructor(private readonly options: JournalOptions) {
    this.disk = options.disk ?? realDisk;
    this.segmentBytes = options.segmentBytes ?? 16 * 1024 * 1024;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    this.begin();
  }

  /** It says why the last write failed, until one succeeds. */
  get trouble(): unknown {
    return this.fault;
  }

  get bytes(): number {
    return this.segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }

  /**
   * Writes so many records, some in a payload, with one system call. It returns false when they are not in
   * the file completely.
   */
  write(payloads: readonly string[], records: number): boolean {
    for (const payload of payloads) this.frames.add(payload);
    const written = this.writeFrames(records);
    this.frames.clear();
    return written;
  }

  /** Tests whether the disk accepts writes again. */
  probe(): boolean {
    return this.fault === undefined || this.write([], 0);
  }

  /** The oldest records are committed. */
  release(count: number): void {
    let left = count;
    while (left > 0 && this.segments.length > 0) {
      const oldest = this.segments[0]!;
      const here = Math.min(left, oldest.open);
      oldest.open -= here;
      left -= here;
      if (oldest.open > 0) return;
      if (this.segments.length > 1) this.discard(this.segments.shift()!);
      else return this.empty(oldest);
    }
  }

  /**
   * Records that are not committed stay on the disk for the next start. So does the last file while the node
   * still holds money: it is how the next start knows whose that is.
   */
  close(holdsNothing = true): void {
    const last = this.segments.at(-1);
    for (const segment of this.segments) {
      if (segment.open === 0 && (holdsNothing || segment !== last)) this.discard(segment);
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
      this.fault = undefined;
      return true;
    } catch (error) {
      this.fault = error;
      return false;
    }
  }

  private append(segment: Segment, bytes: Buffer): void {
    try {
      if (this.disk.write(segment.file, bytes) !== bytes.length) throw noSpace();
      segment.bytes += bytes.length;
    } catch (error) {
      // Half a frame would hide every later one from the replay.
      this.disk.truncate(segment.file, segment.bytes);
      throw error;
    }
  }

  private current(): Segment {
    const newest = this.segments.at(-1);
    return newest !== undefined && newest.bytes < this.segmentBytes ? newest : this.begin();
  }

  private begin(): Segment {
    this.made += 1;
    const path = join(this.options.folder, `${this.options.node}.${this.made}.journal`);
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
      this.begin();
      this.discard(segment);
    } catch (error) {
      this.segments.push(segment);
      this.fault = error;
    }
  }

  private discard(segment: Segment): void {
    this.disk.close(segment.file);
    this.disk.remove(segment.path);
  }
}

/** A write is short only where the disk has no room for the rest. */
const noSpace = (): Error =>
  Object.assign(new Error('no space left on device: the disk took only a part of a write'), {
    code: 'ENOSPC',
  });
