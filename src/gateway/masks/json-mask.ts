import { parseJsonText } from '../../kernel';
import type { MaskRun } from './mask-run';
import { type PieceMask, TextMask } from './text-mask';

const BARE_CHARACTER = /[^\s{}[\],:"]/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const JSON_WORDS: ReadonlySet<string> = new Set(['true', 'false', 'null']);
const BARE_PREFIX = /^(?:[-\d.eE+]+|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?)$/;
/** Longer than any number in a tool call. */
const MAX_BARE_LENGTH = 64;
const STRING_PIECE = /[^"\\]+/y;
const ESCAPE = /\\(?:u[0-9a-fA-F]{4}|[^u])/y;
/** Start of an escape that continues in the next piece. */
const HALF_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/y;

const escapeJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * Masks the JSON of a tool call in pieces, each string and name separately; a masked number becomes a string. From the
 * first invalid character on, the rest is one plain text.
 */
export class JsonMask implements PieceMask {
  private mode: 'between' | 'string' | 'plain' = 'between';
  private string: TextMask;
  private hasChanged = false;
  /** A word or number that could continue, with trailing white space. */
  private bare = '';
  private escape = '';
  private hasStarted = false;

  constructor(private readonly runs: readonly MaskRun[]) {
    this.string = new TextMask(runs);
  }

  get changed(): boolean {
    return this.hasChanged || this.string.changed;
  }

  push(piece: string): string {
    let out = '';
    let index = 0;
    while (index < piece.length) {
      if (this.mode === 'plain') return out + this.string.push(piece.slice(index));
      if (this.mode === 'string') {
        const [text, end] = this.readString(this.escape + piece.slice(index));
        out += text;
        if (end === null) return out;
        index = piece.length - end;
      } else {
        out += this.readBetween(piece[index]!);
        index += 1;
      }
    }
    return out;
  }

  end(): string {
    if (this.mode === 'plain') return this.string.end();
    if (this.mode === 'between') return this.finishBare() ?? this.continueAsPlain('') + this.string.end();
    const { escape } = this;
    this.escape = '';
    return escapeJson(this.string.push(escape) + this.string.end());
  }

  /** Returns the text to forward and the length after the closing quote; null if the string continues. */
  private readString(text: string): readonly [string, number | null] {
    this.escape = '';
    let content = '';
    let index = 0;
    while (index < text.length) {
      if (text[index] === '"') {
        const rest = escapeJson(this.string.push(content) + this.string.end());
        this.mode = 'between';
        return [`${rest}"`, text.length - index - 1];
      }
      STRING_PIECE.lastIndex = ESCAPE.lastIndex = HALF_ESCAPE.lastIndex = index;
      const plain = STRING_PIECE.exec(text);
      const escape = plain === null ? ESCAPE.exec(text) : null;
      if (plain !== null) content += plain[0];
      else if (escape !== null) content += unescapeJson(escape[0]);
      else if (HALF_ESCAPE.test(text)) {
        this.escape = text.slice(index);
        break;
      } else content += text[index];
      index += (plain ?? escape)?.[0].length ?? 1;
    }
    return [escapeJson(this.string.push(content)), null];
  }

  private readBetween(character: string): string {
    if (character === '"') {
      if (this.bare !== '') return this.continueAsPlain(character);
      this.hasStarted = true;
      this.hasChanged ||= this.string.changed;
      this.string = new TextMask(this.runs);
      this.mode = 'string';
      return character;
    }
    if (BARE_CHARACTER.test(character)) {
      const extended = this.bare + character;
      if (!this.hasStarted || extended.length > MAX_BARE_LENGTH || !BARE_PREFIX.test(extended))
        return this.continueAsPlain(character);
      this.bare = extended;
      return '';
    }
    if (character.trim() === '') {
      // Held back, as another number could follow, which would make the text invalid JSON.
      if (this.bare === '') return character;
      this.bare += character;
      return '';
    }
    this.hasStarted = true;
    const bare = this.finishBare();
    return bare === null ? this.continueAsPlain(character) : bare + character;
  }

  /** Null if it is neither a JSON word nor a number. */
  private finishBare(): string | null {
    const { bare } = this;
    const word = bare.trimEnd();
    if (word !== '' && !NUMBER.test(word) && !JSON_WORDS.has(word)) return null;
    this.bare = '';
    if (word === '' || JSON_WORDS.has(word)) return bare;
    const number = new TextMask(this.runs);
    const maskedNumber = number.push(word) + number.end();
    if (!number.changed) return bare;
    this.hasChanged = true;
    return JSON.stringify(maskedNumber) + bare.slice(word.length);
  }

  private continueAsPlain(character: string): string {
    this.mode = 'plain';
    this.hasChanged ||= this.string.changed;
    this.string = new TextMask(this.runs);
    const text = this.bare + character;
    this.bare = '';
    return this.string.push(text);
  }
}

function unescapeJson(escape: string): string {
  try {
    return parseJsonText(`"${escape}"`) as string;
  } catch {
    return escape;
  }
}
