import { fault, type Fault } from '../errors';
import { isRounded } from './json-reader';

const MAX_DEPTH = 64;
const MAX_NAMES = 50_000;
/** Numbers and empty objects come without names, and a flood of them takes as long to parse. */
const MAX_VALUES = 500_000;
/** No number that means something has more, and none may outlast its slice. */
const MAX_NUMBER = 1_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;
const LAST_ASCII = 0x7e;

/** A double holds every whole number of so many digits. */
const EXACT_DIGITS = 15;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const otherInNumbers = new Set([...'+-.eE'].map((character) => character.charCodeAt(0)));

const isDigit = (code: number): boolean => code >= DIGIT_0 && code <= DIGIT_9;
const isOfNumber = (code: number): boolean => isDigit(code) || otherInNumbers.has(code);

/** A field of the top level: where it begins with its name, and where its value begins and ends. */
export interface JsonMember {
  readonly name: string;
  readonly start: number;
  readonly value: number;
  readonly end: number;
}

/** Up to here a loop is quicker than a search, also where quotation marks follow close upon one another. */
const NEAR = 24;

/**
 * One pass over a JSON text: depth, counts of names and values, escaped names, and positions of the top-level fields.
 * The text is latin1, so that positions are byte offsets. The result is valid only if the parser accepts the text.
 */
export class StructureScan {
  readonly members: JsonMember[] = [];
  names = 0;
  hasEscapedName = false;
  /** A double would change some number. */
  hasRoundedNumber = false;
  private at = 0;
  private depth = 0;
  private commas = 0;
  private inString = false;
  /** It is the place behind the last character that is no space: a loop back over space could outlast its slice. */
  private solidEnd = 0;
  /** The string read last begins and ends here, marks included. */
  private stringStart = 0;
  private stringEnd = 0;
  /** It belongs to the field of the top level under way; it is -1 between two. */
  private nameStart = -1;
  private nameEnd = 0;
  /** -1: its colon was read, and its first character was not. */
  private valueStart = 0;

  constructor(private readonly text: string) {}

  /** Looks about so many characters further; true once the end is reached. */
  advance(limit: number): boolean {
    const { text } = this;
    const stop = Math.min(text.length, this.at + limit);
    while (this.at < stop) {
      if (this.inString) this.toNextQuote();
      else this.take(text.charCodeAt(this.at));
    }
    return this.at >= text.length;
  }

  private take(code: number): void {
    const place = this.at;
    this.at += 1;
    if (code <= SPACE) return;
    if (this.valueStart === -1) this.valueStart = place;
    const before = this.solidEnd;
    this.solidEnd = this.at;
    if (code === QUOTE) {
      this.inString = true;
      this.stringStart = place;
    } else if (code === COLON) this.takeName();
    else if (code === COMMA) {
      this.commas += 1;
      this.takeNumber(before);
      if (this.commas >= MAX_VALUES) throw tooMany('values', MAX_VALUES);
      if (this.depth === 1) this.closeMember(before);
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      this.depth += 1;
      if (this.depth > MAX_DEPTH) throw tooDeep();
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      this.takeNumber(before);
      if (this.depth === 1) this.closeMember(before);
      this.depth -= 1;
    }
  }

  /** Looks at the number that ends here, if one does. */
  private takeNumber(end: number): void {
    const { text } = this;
    if (!isDigit(text.charCodeAt(end - 1))) return;
    let start = end - 1;
    const furthest = end - MAX_NUMBER;
    while (start >= furthest && isDigit(text.charCodeAt(start - 1))) start -= 1;
    if (end - start <= EXACT_DIGITS && !isOfNumber(text.charCodeAt(start - 1))) return;
    while (start >= furthest && isOfNumber(text.charCodeAt(start - 1))) start -= 1;
    if (start < furthest) throw tooLong();
    this.hasRoundedNumber ||= isRounded(text.slice(start, end));
  }

  private takeName(): void {
    this.names += 1;
    if (this.names > MAX_NAMES) throw tooMany('names', MAX_NAMES);
    if (!this.hasEscapedName) this.hasEscapedName = hasBackslash(this.text, this.stringStart, this.stringEnd);
    if (this.depth !== 1) return;
    this.nameStart = this.stringStart;
    this.nameEnd = this.stringEnd;
    this.valueStart = -1;
  }

  private closeMember(end: number): void {
    if (this.nameStart === -1) return;
    const name = this.nameAt(this.nameStart, this.nameEnd);
    this.members.push({ name, start: this.nameStart, value: this.valueStart, end });
    this.nameStart = -1;
  }

  private nameAt(start: number, end: number): string {
    const { text } = this;
    return isPlain(text, start + 1, end - 1)
      ? text.slice(start + 1, end - 1)
      : decodedName(text.slice(start, end));
  }

  /** One mark at a time: a string made of escaped marks must not outlast its slice. */
  private toNextQuote(): void {
    const { text } = this;
    const near = Math.min(this.at + NEAR, text.length);
    let at = this.at;
    for (; at < near; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return this.endString(at);
      if (code === BACKSLASH) at += 1;
    }
    // Every escape up to here was skipped whole, so none of them reaches beyond.
    const quote = text.indexOf('"', at);
    if (quote === -1) this.at = text.length;
    else if (isEscaped(text, quote, at)) this.at = quote + 1;
    else this.endString(quote);
  }

  private endString(quote: number): void {
    this.at = quote + 1;
    this.inString = false;
    this.stringEnd = this.solidEnd = this.at;
  }
}

/** An odd number of backslashes stands before it, as far back as `from`. */
function isEscaped(text: string, quote: number, from: number): boolean {
  let before = quote - 1;
  while (before >= from && text.charCodeAt(before) === BACKSLASH) before -= 1;
  return (quote - before) % 2 === 0;
}

/** Such a text means what is written: no escapes, and nothing of several bytes. */
function isPlain(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH || code > LAST_ASCII) return false;
  }
  return true;
}

/** Undecodable ones are found by the parser. */
function decodedName(literal: string): string {
  try {
    return JSON.parse(Buffer.from(literal, 'latin1').toString('utf8')) as string;
  } catch {
    return literal;
  }
}

function hasBackslash(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (text.charCodeAt(at) === BACKSLASH) return true;
  return false;
}

const tooDeep = (): Fault =>
  fault('invalid_json', { message: `The JSON is nested more than ${MAX_DEPTH} levels deep.` });

const tooLong = (): Fault =>
  fault('invalid_json', {
    message: `A number in the JSON has more than ${MAX_NUMBER.toLocaleString('en')} characters.`,
  });

const tooMany = (what: string, limit: number): Fault =>
  fault('invalid_json', { message: `The JSON has more than ${limit.toLocaleString('en')} ${what}.` });
