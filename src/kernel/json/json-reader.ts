type NumberOf = (text: string) => unknown;

interface OpenArray {
  readonly items: unknown[];
  readonly fields?: undefined;
}

interface OpenObject {
  readonly items?: undefined;
  readonly fields: Record<string, unknown>;
  /** The name that the next value belongs to. */
  name: string;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const word = /true|false|null/y;
const words: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };

/**
 * A JSON parser with exactly the grammar and the results of `JSON.parse`, for the texts that V8 misreads. It needs no
 * stack of calls, so depth is no danger to it. `numberOf` says what a number becomes.
 */
export const readJsonText = (text: string, numberOf: NumberOf = Number): unknown =>
  new JsonReader(text, numberOf).read();

class JsonReader {
  private at = 0;
  private readonly open: (OpenArray | OpenObject)[] = [];

  constructor(
    private readonly text: string,
    private readonly numberOf: NumberOf,
  ) {}

  read(): unknown {
    for (;;) {
      this.skipSpace();
      const value = this.beginValue();
      if (value === undefined) continue;
      const whole = this.closeValue(value.is);
      if (whole !== undefined) return whole.is;
    }
  }

  /** A scalar or an empty container; undefined where a container was opened whose first value follows. */
  private beginValue(): { readonly is: unknown } | undefined {
    const character = this.text[this.at];
    if (character === '"') return { is: this.string() };
    if (character === '{') {
      if (this.isClosedAtOnce('}')) return { is: {} };
      this.open.push({ fields: {}, name: this.name() });
      return undefined;
    }
    if (character === '[') {
      if (this.isClosedAtOnce(']')) return { is: [] };
      this.open.push({ items: [] });
      return undefined;
    }
    const digits = this.match(number);
    if (digits !== undefined) return { is: this.numberOf(digits) };
    const found = this.match(word);
    if (found === undefined) throw this.unexpected();
    return { is: words[found] };
  }

  private isClosedAtOnce(closing: string): boolean {
    this.at += 1;
    this.skipSpace();
    if (this.text[this.at] !== closing) return false;
    this.at += 1;
    return true;
  }

  /** Puts a value where it belongs, and closes the containers that end with it; the whole at the end of the text. */
  private closeValue(value: unknown): { readonly is: unknown } | undefined {
    let closed = value;
    for (;;) {
      const parent = this.open.at(-1);
      this.skipSpace();
      if (parent === undefined) {
        if (this.at < this.text.length) throw this.unexpected();
        return { is: closed };
      }
      if (parent.items) parent.items.push(closed);
      else setField(parent.fields, parent.name, closed);
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
      this.open.pop();
    }
  }

  private name(): string {
    const name = this.string();
    this.skipSpace();
    if (this.text[this.at] !== ':') throw this.unexpected();
    this.at += 1;
    return name;
  }

  private string(): string {
    const start = this.at;
    if (this.text.charCodeAt(start) !== QUOTE) throw this.unexpected();
    let isPlain = true;
    for (this.at = start + 1; this.at < this.text.length; this.at += 1) {
      const code = this.text.charCodeAt(this.at);
      if (code === QUOTE) break;
      if (code < 0x20) throw this.unexpected();
      if (code !== BACKSLASH) continue;
      isPlain = false;
      this.at += 1;
    }
    this.at += 1;
    if (this.at > this.text.length) throw this.unexpected();
    if (isPlain) return this.text.slice(start + 1, this.at - 1);
    // The fault concerns names only: V8 reads a string that stands alone correctly.
    return JSON.parse(this.text.slice(start, this.at)) as string;
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

  /** Without an excerpt: the text may hold secrets. */
  private unexpected(): SyntaxError {
    return this.at < this.text.length
      ? new SyntaxError(`Unexpected character in JSON at position ${this.at}`)
      : new SyntaxError('Unexpected end of JSON input');
  }
}

/** As `JSON.parse` does it, `__proto__` becomes a field like any other. */
function setField(fields: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') fields[name] = value;
  else Object.defineProperty(fields, name, { value, writable: true, enumerable: true, configurable: true });
}
