import { parseJsonText } from '../../kernel';
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const backslash = 0x5c;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

/** More than that around a piece of text is not compared, but read. */
const MOST_REMEMBERED = 4 * 1024;

/** What distinguishes the events of a dialect, as it stands in their bytes. */
export interface SkimMarks {
  /** In every event that is more than a piece of text. */
  readonly notable: readonly Buffer[];
  /** Before a piece of text. */
  readonly text: readonly Buffer[];
}

/**
 * Passes over the events that make up nearly all of a stream: whole, on one line, and without any of the marks of
 * something notable. They differ in their text alone, so what stands before and after it is remembered, and the next
 * event is only compared with it. Whatever looks different ends the skimming and is read properly.
 */
export class Skimmer {
  /** Of the text in the last chunk. */
  textBytes = 0;
  /** What stands before the text of the last event and behind it, in memory of our own: a stream may wait for long. */
  private around = Buffer.alloc(0);
  private beforeBytes = 0;
  private aroundBytes = 0;

  constructor(private readonly marks: SkimMarks) {}

  /** How many bytes at the beginning of the chunk need no closer look. */
  skim(chunk: Buffer): number {
    this.textBytes = 0;
    let at = 0;
    while (at < chunk.length) {
      const end = this.repeated(chunk, at) || this.learned(chunk, at);
      if (end === 0) break;
      at = end;
    }
    return at;
  }

  /** The end of an event that is like the last one; 0 for any other. */
  private repeated(chunk: Buffer, at: number): number {
    const { around, beforeBytes, aroundBytes } = this;
    const start = at + beforeBytes;
    if (aroundBytes === 0 || start >= chunk.length) return 0;
    if (chunk.compare(around, 0, beforeBytes, at, start) !== 0) return 0;
    let end = start;
    while (chunk[end] !== quote && chunk[end] !== backslash && end < chunk.length) end += 1;
    const next = end + aroundBytes - beforeBytes;
    if (next > chunk.length || chunk.compare(around, beforeBytes, aroundBytes, end, next) !== 0) return 0;
    this.textBytes += end - start;
    return next;
  }

  /** The end of an event that is plain all the same; 0 for what has to be read. */
  private learned(chunk: Buffer, at: number): number {
    const start = dataStart(chunk, at);
    if (start === -1) return 0;
    const end = chunk.indexOf(lineFeed, start);
    if (end === -1 || chunk[end + 1] !== lineFeed) return 0;
    if (chunk[start] !== openingBrace || chunk[end - 1] !== closingBrace) return 0;
    const event = chunk.subarray(at, end + 2);
    if (event.includes(carriageReturn) || this.marks.notable.some((mark) => event.includes(mark))) return 0;
    for (const mark of this.marks.text) {
      const found = event.indexOf(mark);
      if (found === -1) continue;
      const first = found + mark.length;
      const bytes = textBytesAt(event, first);
      if (bytes === 0) continue;
      this.textBytes += bytes;
      this.remember(event, first, first + bytes);
      break;
    }
    return end + 2;
  }

  /** After escapes the rest does not begin with the quote, and fits nothing. */
  private remember(event: Buffer, textStart: number, textEnd: number): void {
    const length = textStart + event.length - textEnd;
    this.beforeBytes = textStart;
    this.aroundBytes = length > MOST_REMEMBERED ? 0 : length;
    if (this.aroundBytes === 0) return;
    if (this.around.length < length) this.around = Buffer.allocUnsafeSlow(2 * length);
    event.copy(this.around, 0, 0, textStart);
    event.copy(this.around, textStart, textEnd);
  }
}

/** Where the data of the event begins, behind the line that names it, if there is one; -1 for anything else. */
function dataStart(chunk: Buffer, at: number): number {
  let start = at;
  if (chunk[at] === eventLine[0] && startsWith(chunk, eventLine, at)) {
    start = chunk.indexOf(lineFeed, at) + 1;
    if (start === 0) return -1;
  }
  return startsWith(chunk, dataLine, start) ? start + dataLine.length : -1;
}

const eventLine = Buffer.from('event:');
const dataLine = Buffer.from('data: ');

const startsWith = (chunk: Buffer, text: Buffer, at: number): boolean =>
  at + text.length <= chunk.length && chunk.compare(text, 0, text.length, at, at + text.length) === 0;

/** How many bytes the JSON text that begins here stands for: arguments are full of escapes, and each is one character. */
export function textBytesAt(data: Buffer, start: number): number {
  let end = start;
  let isEscaped = false;
  for (; end < data.length && data[end] !== quote; end += 1) {
    if (data[end] !== backslash) continue;
    isEscaped = true;
    end += 1;
  }
  if (!isEscaped) return end - start;
  const text = parseText(data.subarray(start - 1, end + 1));
  return text === null ? Math.min(end, data.length) - start : Buffer.byteLength(text);
}

function parseText(json: Buffer): string | null {
  try {
    const text: unknown = parseJsonText(json.toString('utf8'));
    return typeof text === 'string' ? text : null;
  } catch {
    return null;
  }
}
