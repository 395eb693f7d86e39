import { parseJsonText } from '../../kernel';
import type { MaskRun } from './mask-run';
import { type PieceMask, TextMask } from './text-mask';

const BARE = /[^\s{}[\],:"]/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const WORDS: ReadonlySet<string> = new Set(['true', 'false', 'null']);
const BEGINS = /^(?:[-\d.eE+]+|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?)$/;
/** No number of a tool call is longer. */
const LONGEST_BARE = 64;
const STRING_PIECE = /[^"\\]+/y;
const ESCAPE = /\\(?:u[0-9a-fA-F]{4}|[^u])/y;
/** The beginning of an escape that goes on in the next piece. */
const HALF_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/y;

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * The JSON of a tool call, in pieces. Each string in it is a text of its own, names too; a number that a mask replaces
 * becomes a string, so that what was JSON stays JSON. What is no JSON is one plain text from there on.
 */
export class JsonMask implements PieceMask {
  private mode: 'between' | 'string' | 'plain' = 'between';
  private string: TextMask;
  private hasChanged = false;
  /** A word or number that may go on, with the space behind it. */
  private bare = '';
  private escape = '';
  private hasBegun = false;

  constructor(private readonly runs: readonly MaskRun[]) {
    this.string = new TextMask(runs);
  }

  get changed(): boolean {
    return this.hasChanged || this.string.changed;
  }

  push(piece: string): string {
    let out = '';
    let at = 0;
    while (at < piece.length) {
      if (this.mode === 'plain') return out + this.string.push(piece.slice(at));
      if (this.mode === 'string') {
        const [text, end] = this.inString(this.escape + piece.slice(at));
        out += text;
        if (end === null) return out;
        at = piece.length - end;
      } else {
        out += this.between(piece[at]!);
        at += 1;
      }
    }
    return out;
  }

  end(): string {
    if (this.mode === 'plain') return this.string.end();
    if (this.mode === 'between') return this.finishBare() ?? this.giveUp('') + this.string.end();
    const { escape } = this;
    this.escape = '';
    return quoted(this.string.push(escape) + this.string.end());
  }

  /** What goes out, and how much is left behind the closing mark; null where the string goes on. */
  private inString(text: string): readonly [string, number | null] {
    this.escape = '';
    let read = '';
    let at = 0;
    while (at < text.length) {
      if (text[at] === '"') {
        const rest = quoted(this.string.push(read) + this.string.end());
        this.mode = 'between';
        return [`${rest}"`, text.length - at - 1];
      }
      STRING_PIECE.lastIndex = ESCAPE.lastIndex = HALF_ESCAPE.lastIndex = at;
      const plain = STRING_PIECE.exec(text);
      const escape = plain === null ? ESCAPE.exec(text) : null;
      if (plain !== null) read += plain[0];
      else if (escape !== null) read += unescaped(escape[0]);
      else if (HALF_ESCAPE.test(text)) {
        this.escape = text.slice(at);
        break;
      } else read += text[at];
      at += (plain ?? escape)?.[0].length ?? 1;
    }
    return [quoted(this.string.push(read)), null];
  }

  private between(character: string): string {
    if (character === '"') {
      if (this.bare !== '') return this.giveUp(character);
      this.hasBegun = true;
      this.hasChanged ||= this.string.changed;
      this.string = new TextMask(this.runs);
      this.mode = 'string';
      return character;
    }
    if (BARE.test(character)) {
      const goesOn = this.bare + character;
      if (!this.hasBegun || goesOn.length > LONGEST_BARE || !BEGINS.test(goesOn))
        return this.giveUp(character);
      this.bare = goesOn;
      return '';
    }
    if (character.trim() === '') {
      // Nothing tells yet whether another number follows, as it would in a text that is no JSON.
      if (this.bare === '') return character;
      this.bare += character;
      return '';
    }
    this.hasBegun = true;
    const bare = this.finishBare();
    return bare === null ? this.giveUp(character) : bare + character;
  }

  /** Null where it is neither a word of JSON nor a number. */
  private finishBare(): string | null {
    const { bare } = this;
    const word = bare.trimEnd();
    if (word !== '' && !NUMBER.test(word) && !WORDS.has(word)) return null;
    this.bare = '';
    if (word === '' || WORDS.has(word)) return bare;
    const number = new TextMask(this.runs);
    const shown = number.push(word) + number.end();
    if (!number.changed) return bare;
    this.hasChanged = true;
    return JSON.stringify(shown) + bare.slice(word.length);
  }

  private giveUp(character: string): string {
    this.mode = 'plain';
    this.hasChanged ||= this.string.changed;
    this.string = new TextMask(this.runs);
    const text = this.bare + character;
    this.bare = '';
    return this.string.push(text);
  }
}

/** An escape that JSON does not know stays as it is. */
function unescaped(escape: string): string {
  try {
    return parseJsonText(`"${escape}"`) as string;
  } catch {
    return escape;
  }
}
