import { isValidHeaderValue } from '../../../kernel';
import { BrokenAnswer } from '../errors';
import { headersIn } from './header-lines';

const MAX_DIGITS = 8;
const MAX_EXTENSION_BYTES = 256;
const MAX_TRAILER_BYTES = 16 * 1024;

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const SPACE = 0x20;
const TAB = 0x09;

type State =
  | 'size'
  | 'size-blanks'
  | 'extension'
  | 'size-end'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  | 'trailer-start'
  | 'trailer'
  | 'trailer-end'
  | 'last-lf'
  | 'over';

export class ChunkedBody {
  private state: State = 'size';
  private size = 0;
  private digits = 0;
  /** Chunk-size line or trailers read so far. */
  private line = '';
  private trailers = 0;
  private piece: Buffer | null = null;

  get isOver(): boolean {
    return this.state === 'over';
  }

  /** Returns the bytes of the last read, once. */
  takePiece(): Buffer | null {
    const { piece } = this;
    this.piece = null;
    return piece;
  }

  reset(): void {
    this.state = 'size';
    this.size = this.digits = this.trailers = 0;
    this.line = '';
  }

  /** Returns the offset reached: the end of one chunk, or of all chunks read, which then make one piece. */
  read(memory: Buffer, from: number, to: number, isOneByOne: boolean): number {
    let gathered: Buffer | null = null;
    let filled = 0;
    let at = from;
    while (at < to && this.state !== 'over') {
      if (this.state !== 'data') {
        this.step(memory[at]!);
        at += 1;
        continue;
      }
      const length = Math.min(this.size, to - at);
      gathered ??= Buffer.allocUnsafe(isOneByOne ? length : to - at);
      memory.copy(gathered, filled, at, at + length);
      filled += length;
      at += length;
      this.size -= length;
      if (this.size > 0) continue;
      this.state = 'data-cr';
      if (isOneByOne) break;
    }
    this.piece = filled === gathered?.length ? gathered : (gathered?.subarray(0, filled) ?? null);
    return at;
  }

  /** Reads one byte outside the chunks. */
  private step(byte: number): void {
    switch (this.state) {
      case 'size':
        return this.stepSize(byte);
      case 'size-blanks':
        return this.stepBlanks(byte);
      case 'extension':
        return this.stepExtension(byte);
      case 'size-end':
        this.digits = 0;
        this.line = '';
        return this.expect(byte, LF, this.size === 0 ? 'trailer-start' : 'data');
      case 'data-cr':
        return this.expect(byte, CR, 'data-lf');
      case 'data-lf':
        return this.expect(byte, LF, 'size');
      case 'trailer-start':
        if (byte === CR) this.state = 'last-lf';
        else this.stepTrailer(byte);
        return;
      case 'trailer':
        return this.stepTrailer(byte);
      case 'trailer-end':
        headersIn(this.line, 0);
        this.line = '';
        return this.expect(byte, LF, 'trailer-start');
      case 'last-lf':
        return this.expect(byte, LF, 'over');
      case 'data':
      case 'over':
        throw new Error('this state is not between two chunks');
    }
  }

  private stepSize(byte: number): void {
    const value = hexValue(byte);
    if (value !== -1 && this.digits < MAX_DIGITS) {
      this.size = this.size * 16 + value;
      this.digits += 1;
      return;
    }
    if (this.digits === 0 || value !== -1) throw new BrokenAnswer('a chunk has no size');
    if (byte === CR) this.state = 'size-end';
    else this.stepBlanks(byte);
  }

  /** Blanks after a size only lead to an extension. */
  private stepBlanks(byte: number): void {
    if (byte === SEMICOLON) this.state = 'extension';
    else if ((byte === SPACE || byte === TAB) && this.gather(byte) <= MAX_EXTENSION_BYTES)
      this.state = 'size-blanks';
    else throw new BrokenAnswer('a chunk has no size');
  }

  private stepExtension(byte: number): void {
    if (byte !== CR) return void this.assertWithin(this.gather(byte), MAX_EXTENSION_BYTES);
    if (!isValidHeaderValue(this.line))
      throw new BrokenAnswer('an extension has characters that none may have');
    this.state = 'size-end';
  }

  private stepTrailer(byte: number): void {
    this.trailers += 1;
    this.state = byte === CR ? 'trailer-end' : 'trailer';
    if (byte !== CR) this.gather(byte);
    this.assertWithin(this.trailers, MAX_TRAILER_BYTES);
  }

  private gather(byte: number): number {
    if (byte === LF) throw new BrokenAnswer('a line ends otherwise than lines do');
    this.line += String.fromCharCode(byte);
    return this.line.length;
  }

  private assertWithin(bytes: number, max: number): void {
    if (bytes > max) throw new BrokenAnswer('what stands beside its chunks does not end');
  }

  private expect(byte: number, expected: number, next: State): void {
    if (byte !== expected) throw new BrokenAnswer('a chunk does not end where it should');
    this.state = next;
  }
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
