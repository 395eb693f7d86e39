import type { Credential } from '../../../catalogue';
import { Fault, fault } from '../../../kernel';

const BLANK = '[redacted]';
/** Minimum length of a secret; redacting shorter ones would redact ordinary words. */
const MIN_SECRET_LENGTH = 4;
/** Secrets shorter than this are redacted only as separate words. */
const MIN_EMBEDDED_LENGTH = 8;
const MIN_ENCODED_LENGTH = 12;

/** Escaped characters of JSON, URLs and HTML, also with repeated escaping. */
const escapedCharacter =
  /\\+u00([0-9a-f]{2})|\\+x([0-9a-f]{2})|%(?:25)*([0-9a-f]{2})|&#x0*([0-9a-f]{1,2});|&#0*(\d{1,3});|\\+/gi;

interface DecodedText {
  readonly text: string;
  /** Position of each character in the original text; the last entry is its length. Null if the texts are equal. */
  readonly positions: readonly number[] | null;
}

interface SentSecrets {
  readonly credential: Credential | null;
  readonly headers: Readonly<Record<string, string>>;
}

interface KnownSecrets {
  readonly secrets: readonly string[];
  readonly encodings: readonly string[];
}

interface SecretRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The secrets of one call, and the only code that redacts them from suppliers' messages. Suppliers, and proxies in
 * front of them, echo requests in error messages.
 */
export class CallSecrets {
  /** Processed only when a failure is passed on, as nearly every call succeeds. */
  private readonly sent: SentSecrets[] = [];
  private knownSecrets: KnownSecrets | null = null;

  add(credential: Credential | null, headers: SentSecrets['headers']): void {
    this.sent.push({ credential, headers });
    this.knownSecrets = null;
  }

  occurIn(bytes: Buffer): boolean {
    const text = bytes.toString('utf8');
    return this.redactText(text) !== text;
  }

  redactText(text: string): string {
    const ranges = [...this.rangesIn(undecoded(text)), ...this.rangesIn(decodeText(text))];
    if (ranges.length === 0) return text;
    ranges.sort((one, other) => one.start - other.start);
    let redacted = '';
    let at = 0;
    for (const { start, end } of ranges) {
      if (start >= at) redacted += text.slice(at, start) + BLANK;
      at = Math.max(at, end);
    }
    return redacted + text.slice(at);
  }

  redact<T>(value: T): T;
  redact(value: unknown): unknown {
    if (typeof value === 'string') return this.redactText(value);
    if (Array.isArray(value)) return value.map((item: unknown): unknown => this.redact(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [this.redactText(name), this.redact(member)]),
    );
  }

  redactFault(problem: Fault): Fault {
    const { cause, ...options } = problem.options;
    const { message, param, details } = options;
    const redacted = this.redact({ message, param, details });
    const isChanged = JSON.stringify(redacted) !== JSON.stringify({ message, param, details });
    // Causes are redacted too, since the log prints them completely.
    const inner = cause instanceof Fault ? this.redactFault(cause) : cause;
    const causeHasSecret =
      inner instanceof Error && this.redactText(String(inner.stack)) !== String(inner.stack);
    if (!isChanged && !causeHasSecret && inner === cause) return problem;
    return fault(problem.code, {
      ...options,
      ...withoutAbsent(redacted),
      ...(cause === undefined || causeHasSecret ? {} : { cause: inner }),
    });
  }

  private get allSecrets(): KnownSecrets {
    if (this.knownSecrets !== null) return this.knownSecrets;
    const secrets = [...new Set(this.sent.flatMap(textsOf))].filter(
      ({ length }) => length >= MIN_SECRET_LENGTH,
    );
    // A secret can itself contain an escape sequence.
    const decodedSecrets = secrets
      .map((secret) => decodeText(secret).text)
      .filter(({ length }) => length >= MIN_SECRET_LENGTH);
    this.knownSecrets = {
      secrets: [...new Set([...secrets, ...decodedSecrets])],
      encodings: secrets.flatMap(encodingsOf),
    };
    return this.knownSecrets;
  }

  private *rangesIn({ text, positions: places }: DecodedText): Generator<SecretRange> {
    const lower = text.toLowerCase();
    // Some letters change their length with their case; such texts are searched case-sensitively.
    const searched = lower.length === text.length ? lower : text;
    const { secrets, encodings } = this.allSecrets;
    for (const secret of secrets) {
      const canBeEmbedded = secret.length >= MIN_EMBEDDED_LENGTH;
      for (const at of occurrencesOf(searched === lower ? secret.toLowerCase() : secret, searched)) {
        const end = at + secret.length;
        if (canBeEmbedded || isSeparateWord(text, at, end)) yield rangeOf(places, at, end);
      }
    }
    for (const encoding of encodings)
      for (const at of occurrencesOf(encoding, text)) yield rangeOf(places, at, at + encoding.length);
  }
}

/** The authorization scheme is no secret; of a signature only the last part is. */
function textsOf({ credential, headers }: SentSecrets): string[] {
  const parts = Object.entries(credential ?? {}).filter(([name]) => name !== 'kind' && name !== 'id');
  const texts = [...parts.map(([, value]): unknown => value), headers.authorization?.split(/[ =]/).at(-1)];
  return texts.filter((text) => typeof text === 'string');
}

const withoutAbsent = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const undecoded = (text: string): DecodedText => ({ text, positions: null });

/** The text with all escape sequences decoded. */
function decodeText(text: string): DecodedText {
  if (!/[\\%&]/.test(text)) return { text: '', positions: null };
  const places: number[] = [];
  let result = '';
  let at = 0;
  const take = (end: number): void => {
    for (; at < end; at += 1) {
      places.push(at);
      result += text[at];
    }
  };
  for (const match of text.matchAll(escapedCharacter)) {
    take(match.index);
    const [sequence, json, hex, url, page, decimal] = match;
    const code = decimal === undefined ? parseInt(json ?? hex ?? url ?? page ?? '', 16) : Number(decimal);
    if (!Number.isNaN(code)) {
      places.push(at);
      result += String.fromCharCode(code);
    }
    at += sequence.length;
  }
  take(text.length);
  places.push(text.length);
  return { text: result, positions: places };
}

function* occurrencesOf(part: string, text: string): Generator<number> {
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) yield at;
}

const rangeOf = (positions: DecodedText['positions'], start: number, end: number): SecretRange =>
  positions === null ? { start, end } : { start: positions[start]!, end: positions[end]! };

const isSeparateWord = (text: string, start: number, end: number): boolean =>
  !/[\w-]/.test(text[start - 1] ?? ' ') && !/[\w-]/.test(text[end] ?? ' ');

/**
 * A text has three base64 forms, depending on its offset; the characters at its ends depend on the neighbours and are
 * cut off.
 */
function encodingsOf(secret: string): string[] {
  if (secret.length < MIN_ENCODED_LENGTH) return [];
  const forms = [0, 1, 2].flatMap((shift) => {
    const bytes = Buffer.from(`${'x'.repeat(shift)}${secret}`);
    return (['base64', 'base64url'] as const).map((alphabet) =>
      bytes
        .toString(alphabet)
        .replaceAll('=', '')
        .slice(shift === 0 ? 0 : shift + 1, -2),
    );
  });
  const hex = Buffer.from(secret).toString('hex');
  return [...new Set([...forms, hex, hex.toUpperCase()])];
}
