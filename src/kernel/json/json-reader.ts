import { DuplicateNameError } from './duplicate-name-error';
import { JsonText } from './json-text';

interface OpenValue {
  /** Numbers within keep their original text. */
  readonly isExact: boolean;
  /** Start of the value if its original text is needed. */
  readonly writtenFrom?: number | undefined;
}

interface OpenArray extends OpenValue {
  readonly items: unknown[];
  readonly fields?: undefined;
}

interface OpenObject extends OpenValue {
  readonly items?: undefined;
  readonly fields: Record<string, unknown>;
  /** The name that the next value belongs to. */
  name: string;
}

interface OpenString {
  readonly parts: string[];
}

/** Names of fields whose values are passed on unchanged and never interpreted. */
export interface VerbatimFields {
  /** An object under such a name is read as its original text. */
  readonly texts?: ReadonlySet<string>;
  /** Within the value under such a name, a number that a double would change keeps its original text. */
  readonly numbers?: ReadonlySet<string>;
}

interface ReaderOptions extends VerbatimFields {
  readonly numberOf?: (text: string) => unknown;
  readonly uniqueNames?: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

const spacePattern = /[ \t\n\r]*/y;
const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const literalPattern = /true|false|null/y;
const literals: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };

/** True if converting the digits to a double would change them. */
export const isRounded = (digits: string): boolean => JSON.stringify(Number(digits)) !== digits;

/**
 * A JSON parser with the grammar and results of `JSON.parse`, for texts that V8 misreads and for long texts read in
 * steps. Depth is harmless, since nothing recurses.
 */
export const readJsonText = (text: string, options: ReaderOptions = {}): unknown =>
  new JsonReader(text, options).advance(Infinity, Infinity)!.value;

export class JsonReader {
  private at = 0;
  private readonly open: (OpenArray | OpenObject)[] = [];
  private openString: OpenString | undefined;

  constructor(
    private readonly text: string,
    private readonly options: ReaderOptions = {},
  ) {}

  /** Reads up to about this many values or characters; returns the result once the text is complete. */
  advance(values: number, characters: number): { readonly value: unknown } | undefined {
    const stop = this.at + characters;
    for (let remaining = values; remaining > 0 && this.at < stop; remaining -= 1) {
      const element =
        this.openString === undefined ? this.startValue(stop) : this.string(this.openString, stop);
      const result = element === undefined ? undefined : this.closeValue(element.value);
      if (result !== undefined) return result;
    }
    return undefined;
  }

  /** Returns a scalar or an empty container; undefined if more has to be read first. */
  private startValue(stop: number): { readonly value: unknown } | undefined {
    this.skipSpace();
    const character = this.text[this.at];
    if (character === '"') {
      this.at += 1;
      return this.string((this.openString = { parts: [] }), stop);
    }
    if (character === '{') {
      const attributes = this.openValue(this.at);
      if (this.skipIfEmpty('}')) return { value: {} };
      this.open.push({ ...attributes, fields: {}, name: this.name() });
      return undefined;
    }
    if (character === '[') {
      const { isExact } = this.openValue(this.at);
      if (this.skipIfEmpty(']')) return { value: [] };
      this.open.push({ isExact, items: [] });
      return undefined;
    }
    const digits = this.match(numberPattern);
    if (digits !== undefined) return { value: this.numberOf(digits) };
    const literal = this.match(literalPattern);
    if (literal === undefined) throw this.unexpected();
    return { value: literals[literal] };
  }

  private openValue(at: number): OpenValue {
    const { texts, numbers } = this.options;
    const parent = this.open.at(-1);
    if (parent === undefined || (texts === undefined && numbers === undefined)) return { isExact: false };
    const name = parent.items ? undefined : parent.name;
    const isExact = parent.isExact || (name !== undefined && numbers?.has(name) === true);
    const isVerbatim = !isExact && name !== undefined && texts?.has(name) === true;
    return { isExact, writtenFrom: isVerbatim ? at : undefined };
  }

  private numberOf(digits: string): unknown {
    if (this.options.numberOf !== undefined) return this.options.numberOf(digits);
    const isExact = this.open.at(-1)?.isExact === true && isRounded(digits);
    return isExact ? new JsonText(digits) : Number(digits);
  }

  private skipIfEmpty(closing: string): boolean {
    this.at += 1;
    this.skipSpace();
    if (this.text[this.at] !== closing) return false;
    this.at += 1;
    return true;
  }

  /**
   * Adds a value to its container and closes the containers that end with it; returns the result at the end of the
   * text.
   */
  private closeValue(value: unknown): { readonly value: unknown } | undefined {
    let current = value;
    for (;;) {
      const parent = this.open.at(-1);
      this.skipSpace();
      if (parent === undefined) {
        if (this.at < this.text.length) throw this.unexpected();
        return { value: current };
      }
      if (parent.items) parent.items.push(current);
      else this.setField(parent, current);
      const character = this.text[this.at];
      if (character === ',') {
        this.at += 1;
        if (parent.items) return undefined;
        this.skipSpace();
        parent.name = this.name();
        return undefined;
      }
      if (character !== (parent.items ? ']' : '}')) throw this.unexpected();
      this.at += 1;
      current = parent.items ?? parent.fields;
      if (parent.writtenFrom !== undefined)
        current = new JsonText(this.text.slice(parent.writtenFrom, this.at));
      this.open.pop();
    }
  }

  /** As in `JSON.parse`, the last duplicate wins, and `__proto__` is an ordinary field. */
  private setField({ fields, name }: OpenObject, value: unknown): void {
    if (this.options.uniqueNames === true && Object.hasOwn(fields, name))
      throw new DuplicateNameError(this.path());
    if (name !== '__proto__') fields[name] = value;
    else Object.defineProperty(fields, name, { value, writable: true, enumerable: true, configurable: true });
  }

  private path(): string {
    return this.open
      .map(({ items, ...object }) => (items ? items.length : (object as OpenObject).name))
      .join('.');
  }

  private name(): string {
    if (this.text.charCodeAt(this.at) !== QUOTE) throw this.unexpected();
    this.at += 1;
    const { value } = this.string({ parts: [] }, Infinity)!;
    this.skipSpace();
    if (this.text[this.at] !== ':') throw this.unexpected();
    this.at += 1;
    return value;
  }

  /** Continues a string after its opening quotation mark; undefined if it extends beyond `stop`. */
  private string(string: OpenString, stop: number): { readonly value: string } | undefined {
    const { text } = this;
    const start = this.at;
    let isPlain = true;
    for (;;) {
      if (this.at >= text.length) throw this.unexpected();
      const code = text.charCodeAt(this.at);
      if (code === QUOTE || this.at >= stop) break;
      if (code < 0x20) throw this.unexpected();
      if (code === BACKSLASH) isPlain = false;
      // A step never ends within an escape.
      this.at += code !== BACKSLASH ? 1 : text.charCodeAt(this.at + 1) === LETTER_U ? 6 : 2;
    }
    const raw = text.slice(start, this.at);
    // V8 reads a standalone string correctly, escapes included.
    const decoded = isPlain ? raw : (JSON.parse(`"${raw}"`) as string);
    if (text.charCodeAt(this.at) !== QUOTE) {
      string.parts.push(decoded);
      return undefined;
    }
    this.at += 1;
    this.openString = undefined;
    return { value: string.parts.length === 0 ? decoded : string.parts.join('') + decoded };
  }

  private skipSpace(): void {
    // Most texts have none between their tokens.
    if (this.text.charCodeAt(this.at) > 0x20) return;
    this.match(spacePattern);
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const token = pattern.exec(this.text)?.[0];
    this.at += token?.length ?? 0;
    return token;
  }

  /** Without an excerpt of the text, which might hold secrets. */
  private unexpected(): SyntaxError {
    return this.at < this.text.length
      ? new SyntaxError(`Unexpected character in JSON at position ${this.at}`)
      : new SyntaxError('Unexpected end of JSON input');
  }
}
