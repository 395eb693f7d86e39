import { fault, type Fault } from '../errors';
import { isRounded } from './json-reader';

const MAX_DEPTH = 64;
const MAX_NAMES = 50_000;
/** Numbers and empty objects have no names, but a flood of them takes as long to parse. */
const MAX_VALUES = 500_000;
/** No meaningful number is longer, and a longer one could outlast its slice. */
const MAX_NUMBER_LENGTH = 1_000;

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

/** A double is exact for every integer with up to this many digits. */
const EXACT_DIGITS = 15;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const numberPunctuation = new Set([...'+-.eE'].map((character) => character.charCodeAt(0)));

const isDigit = (code: number): boolean => code >= DIGIT_0 && code <= DIGIT_9;
const isNumberCharacter = (code: number): boolean => isDigit(code) || numberPunctuation.has(code);

/** A top-level field: the start of its name, and the start and end of its value. */
export interface JsonMember {
  readonly name: string;
  readonly start: number;
  readonly value: number;
  readonly end: number;
}

/** Up to this distance a loop is quicker than a search, even if quotation marks are close together. */
const LOOP_CHARACTERS = 24;

/**
 * Scans a JSON text once for depth, counts, escaped names and the positions of top-level fields. Positions are byte
 * offsets of the latin1 text, and are valid only if the parser accepts the text.
 */
export class StructureScan {
  readonly members: JsonMember[] = [];
  names = 0;
  hasEscapedName = false;
  hasRoundedNumber = false;
  private at = 0;
  private depth = 0;
  private commas = 0;
  private inString = false;
  /** Position after the last non-space character; a loop back over space could outlast its slice. */
  private solidEnd = 0;
  /** Range of the last string read, quotation marks included. */
  private stringStart = 0;
  private stringEnd = 0;
  /** Name of the current top-level field; -1 between two fields. */
  private nameStart = -1;
  private nameEnd = 0;
  /** -1 if the colon was read but not the first character of the value. */
  private valueStart = 0;

  constructor(private readonly text: string) {}

  /** Scans up to `limit` characters further; returns true at the end of the text. */
  advance(limit: number): boolean {
    const { text } = this;
    const stop = Math.min(text.length, this.at + limit);
    while (this.at < stop) {
      if (this.inString) this.toNextQuote();
      else this.scanCharacter(text.charCodeAt(this.at));
    }
    return this.at >= text.length;
  }

  private scanCharacter(code: number): void {
    const position = this.at;
    this.at += 1;
    if (code <= SPACE) return;
    if (this.valueStart === -1) this.valueStart = position;
    const before = this.solidEnd;
    this.solidEnd = this.at;
    if (code === QUOTE) {
      this.inString = true;
      this.stringStart = position;
    } else if (code === COLON) this.recordName();
    else if (code === COMMA) {
      this.commas += 1;
      this.checkNumber(before);
      if (this.commas >= MAX_VALUES) throw tooMany('values', MAX_VALUES);
      if (this.depth === 1) this.closeMember(before);
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      this.depth += 1;
      if (this.depth > MAX_DEPTH) throw tooDeep();
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      this.checkNumber(before);
      if (this.depth === 1) this.closeMember(before);
      this.depth -= 1;
    }
  }

  private checkNumber(end: number): void {
    const { text } = this;
    if (!isDigit(text.charCodeAt(end - 1))) return;
    let start = end - 1;
    const furthest = end - MAX_NUMBER_LENGTH;
    while (start >= furthest && isDigit(text.charCodeAt(start - 1))) start -= 1;
    if (end - start <= EXACT_DIGITS && !isNumberCharacter(text.charCodeAt(start - 1))) return;
    while (start >= furthest && isNumberCharacter(text.charCodeAt(start - 1))) start -= 1;
    if (start < furthest) throw tooLong();
    this.hasRoundedNumber ||= isRounded(text.slice(start, end));
  }

  private recordName(): void {
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

  /** Stops at each quotation mark: a string of escaped marks must not outlast its slice. */
  private toNextQuote(): void {
    const { text } = this;
    const near = Math.min(this.at + LOOP_CHARACTERS, text.length);
    let at = this.at;
    for (; at < near; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return this.endString(at);
      if (code === BACKSLASH) at += 1;
    }
    // Every escape up to here was skipped completely, so none extends beyond.
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

function isEscaped(text: string, quote: number, from: number): boolean {
  let before = quote - 1;
  while (before >= from && text.charCodeAt(before) === BACKSLASH) before -= 1;
  return (quote - before) % 2 === 0;
}

function isPlain(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH || code > LAST_ASCII) return false;
  }
  return true;
}

/** Undecodable names are reported by the parser. */
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
    message: `A number in the JSON has more than ${MAX_NUMBER_LENGTH.toLocaleString('en')} characters.`,
  });

const tooMany = (noun: string, limit: number): Fault =>
  fault('invalid_json', { message: `The JSON has more than ${limit.toLocaleString('en')} ${noun}.` });
