import { DuplicateName } from './duplicate-name';
import { JsonText } from './json-text';

interface OpenValue {
  /** Numbers within it stay as they were written. */
  readonly isExact: boolean;
  /** The value begins here, when its whole text is wanted. */
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

/** A string value of which only a part was read. */
interface OpenString {
  readonly parts: string[];
}

/** The names of fields whose values belong to someone else: they are passed on and never reckoned with. */
export interface WrittenFields {
  /** An object under such a name is read as the text that it was. */
  readonly texts?: ReadonlySet<string>;
  /** Within the value under such a name, a number that a double would change is read as it was written. */
  readonly numbers?: ReadonlySet<string>;
}

interface ReaderOptions extends WrittenFields {
  /** A number becomes a double unless this function says otherwise. */
  readonly numberOf?: (text: string) => unknown;
  /** A name that stands twice in one object is an error. */
  readonly uniqueNames?: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const word = /true|false|null/y;
const words: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };

/** A double would be printed otherwise than these digits. */
export const isRounded = (digits: string): boolean => JSON.stringify(Number(digits)) !== digits;

/**
 * A JSON parser with the grammar and results of `JSON.parse`. It reads texts that V8 misreads, and long texts in
 * steps. It uses no recursion, so depth is harmless.
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

  /** Reads about so many values or characters; returns the whole once it is read. */
  advance(values: number, characters: number): { readonly value: unknown } | undefined {
    const stop = this.at + characters;
    for (let left = values; left > 0 && this.at < stop; left -= 1) {
      const begun =
        this.openString === undefined ? this.beginValue(stop) : this.string(this.openString, stop);
      const whole = begun === undefined ? undefined : this.closeValue(begun.value);
      if (whole !== undefined) return whole;
    }
    return undefined;
  }

  /** A scalar or an empty container; undefined where more has to be read first. */
  private beginValue(stop: number): { readonly value: unknown } | undefined {
    this.skipSpace();
    const character = this.text[this.at];
    if (character === '"') {
      this.at += 1;
      return this.string((this.openString = { parts: [] }), stop);
    }
    if (character === '{') {
      const opened = this.opened(this.at);
      if (this.isClosedAtOnce('}')) return { value: {} };
      this.open.push({ ...opened, fields: {}, name: this.name() });
      return undefined;
    }
    if (character === '[') {
      const { isExact } = this.opened(this.at);
      if (this.isClosedAtOnce(']')) return { value: [] };
      this.open.push({ isExact, items: [] });
      return undefined;
    }
    const digits = this.match(number);
    if (digits !== undefined) return { value: this.numberOf(digits) };
    const found = this.match(word);
    if (found === undefined) throw this.unexpected();
    return { value: words[found] };
  }

  private opened(at: number): OpenValue {
    const { texts, numbers } = this.options;
    const parent = this.open.at(-1);
    if (parent === undefined || (texts === undefined && numbers === undefined)) return { isExact: false };
    const name = parent.items ? undefined : parent.name;
    const isExact = parent.isExact || (name !== undefined && numbers?.has(name) === true);
    const isWritten = !isExact && name !== undefined && texts?.has(name) === true;
    return { isExact, writtenFrom: isWritten ? at : undefined };
  }

  private numberOf(digits: string): unknown {
    if (this.options.numberOf !== undefined) return this.options.numberOf(digits);
    const isExact = this.open.at(-1)?.isExact === true && isRounded(digits);
    return isExact ? new JsonText(digits) : Number(digits);
  }

  private isClosedAtOnce(closing: string): boolean {
    this.at += 1;
    this.skipSpace();
    if (this.text[this.at] !== closing) return false;
    this.at += 1;
    return true;
  }

  /** Puts a value where it belongs, and closes the containers that end with it; the whole at the end of the text. */
  private closeValue(value: unknown): { readonly value: unknown } | undefined {
    let closed = value;
    for (;;) {
      const parent = this.open.at(-1);
      this.skipSpace();
      if (parent === undefined) {
        if (this.at < this.text.length) throw this.unexpected();
        return { value: closed };
      }
      if (parent.items) parent.items.push(closed);
      else this.setField(parent, closed);
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
      closed = parent.items ?? parent.fields;
      if (parent.writtenFrom !== undefined)
        closed = new JsonText(this.text.slice(parent.writtenFrom, this.at));
      this.open.pop();
    }
  }

  /** As `JSON.parse` does it, the last of several counts, and `__proto__` becomes a field like any other. */
  private setField({ fields, name }: OpenObject, value: unknown): void {
    if (this.options.uniqueNames === true && Object.hasOwn(fields, name))
      throw new DuplicateName(this.path());
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

  /** Reads on in a string, behind its opening mark; undefined where it goes on behind `stop`. */
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
    // V8 reads a string that stands alone correctly, escapes and all.
    const read = isPlain ? raw : (JSON.parse(`"${raw}"`) as string);
    if (text.charCodeAt(this.at) !== QUOTE) {
      string.parts.push(read);
      return undefined;
    }
    this.at += 1;
    this.openString = undefined;
    return { value: string.parts.length === 0 ? read : string.parts.join('') + read };
  }

  private skipSpace(): void {
    // Most texts have none between their tokens.
    if (this.text.charCodeAt(this.at) > 0x20) return;
    this.match(space);
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  /** No excerpt of the text: it may hold secrets. */
  private unexpected(): SyntaxError {
    return this.at < this.text.length
      ? new SyntaxError(`Unexpected character in JSON at position ${this.at}`)
      : new SyntaxError('Unexpected end of JSON input');
  }
}
