import { Pieces } from '../pieces';

const escapedLetter = Buffer.from('\\u00');
const ascii = /^[\x20-\x7e]*$/;

export interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Keeps them in order. There are few: sorting them would take the engine longer than everything else. */
export function addChange(changes: Change[], start: number, end: number, text: string): void {
  let place = changes.length;
  while (place > 0 && isBehind(changes[place - 1]!, start, end)) place -= 1;
  const change = { start, end, text };
  if (place === changes.length) changes.push(change);
  else changes.splice(place, 0, change);
}

const isBehind = (change: Change, start: number, end: number): boolean =>
  change.start > start || (change.start === start && change.end > end);

/** What is searched and edited. */
export interface Source {
  readonly bytes: Buffer;
  readonly hasEscapedLetters: boolean;
  /** Where a name stands, with its quotation marks; -1 for nowhere. */
  find(quoted: string, from: number): number;
  with(changes: readonly Change[]): Pieces;
}

/** Below this, texts take the engine less than calls into Node for every step. */
const SHORT_BYTES = 4 * 1024;

/** In latin1 every byte is one character, and the same byte again. */
export const sourceOf = (bytes: Buffer): Source =>
  bytes.length <= SHORT_BYTES ? new ShortSource(bytes) : new LongSource(bytes);

class ShortSource implements Source {
  private readonly text: string;

  constructor(readonly bytes: Buffer) {
    this.text = bytes.toString('latin1');
  }

  get hasEscapedLetters(): boolean {
    return this.text.includes('\\u00');
  }

  find(quoted: string, from: number): number {
    return this.text.indexOf(quoted, from);
  }

  with(changes: readonly Change[]): Pieces {
    let result = '';
    let from = 0;
    for (const { start, end, text } of changes) {
      result += this.text.slice(from, start);
      if (text !== '') result += ascii.test(text) ? text : Buffer.from(text).toString('latin1');
      from = end;
    }
    return new Pieces([result + this.text.slice(from)]);
  }
}

class LongSource implements Source {
  constructor(readonly bytes: Buffer) {}

  get hasEscapedLetters(): boolean {
    return this.bytes.includes(escapedLetter);
  }

  find(quoted: string, from: number): number {
    return this.bytes.indexOf(bytesOf(quoted), from);
  }

  /** Nothing of it is copied. */
  with(changes: readonly Change[]): Pieces {
    const parts: Buffer[] = [];
    let from = 0;
    for (const { start, end, text } of changes) {
      if (start > from) parts.push(this.bytes.subarray(from, start));
      if (text !== '') parts.push(Buffer.from(text));
      from = end;
    }
    parts.push(this.bytes.subarray(from));
    return new Pieces(parts);
  }
}

const bytesOf = remembered((quoted) => Buffer.from(quoted));

/** A name that can be written in one way only, but for escapes, with its quotation marks; undefined for another. */
export const quotedName = remembered((name) => (/^[\w-]+$/.test(name) ? `"${name}"` : undefined));

const MOST_NAMES = 256;
const LONGEST_NAME = 64;

/** The same few names are edited in every body; a long one is a caller's, and is not kept. */
function remembered<Found>(find: (name: string) => Found): (name: string) => Found {
  const known = new Map<string, Found>();
  return (name) => {
    if (name.length > LONGEST_NAME) return find(name);
    const before = known.get(name);
    if (before !== undefined) return before;
    if (known.size >= MOST_NAMES) known.clear();
    const found = find(name);
    known.set(name, found);
    return found;
  };
}
