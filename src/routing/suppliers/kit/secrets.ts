import type { Credential } from '../../../catalogue';
import { Fault, fault } from '../../../kernel';

const BLANK = '[redacted]';
/** Shorter ones are no secrets: blanking them would blank ordinary words. */
const SHORTEST = 4;
/** Shorter ones count only where they stand alone. */
const SHORTEST_WITHIN = 8;
const SHORTEST_ENCODED = 12;

/** A character as JSON, a URL or a page may write it, several times over. */
const writtenOtherwise =
  /\\+u00([0-9a-f]{2})|\\+x([0-9a-f]{2})|%(?:25)*([0-9a-f]{2})|&#x0*([0-9a-f]{1,2});|&#0*(\d{1,3});|\\+/gi;

interface Reading {
  readonly text: string;
  /** Each character begins at its place in what was read; the last entry is the length. */
  readonly places: readonly number[] | null;
}

interface Sent {
  readonly credential: Credential | null;
  readonly headers: Readonly<Record<string, string>>;
}

interface Known {
  readonly secrets: readonly string[];
  /** The same in hexadecimal and base64. */
  readonly encodings: readonly string[];
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * The secrets of one call, and the only code that redacts them from a supplier's words. Suppliers, and proxies in
 * front of them, echo requests in their error messages.
 */
export class CallSecrets {
  /** Nearly every call ends without a failure, so they are taken apart only when one has to be passed on. */
  private readonly sent: Sent[] = [];
  private known: Known | null = null;

  /** The credential, and what was made of it for the request. */
  add(credential: Credential | null, headers: Sent['headers']): void {
    this.sent.push({ credential, headers });
    this.known = null;
  }

  areIn(bytes: Buffer): boolean {
    const text = bytes.toString('utf8');
    return this.blankedText(text) !== text;
  }

  /** The text without them, however they are written. */
  blankedText(text: string): string {
    const found = [...this.rangesIn(asItStands(text)), ...this.rangesIn(decoded(text))];
    if (found.length === 0) return text;
    found.sort((one, other) => one.start - other.start);
    let blanked = '';
    let at = 0;
    for (const { start, end } of found) {
      if (start >= at) blanked += text.slice(at, start) + BLANK;
      at = Math.max(at, end);
    }
    return blanked + text.slice(at);
  }

  /** The same for every text and every name in a value. */
  blanked<T>(value: T): T;
  blanked(value: unknown): unknown {
    if (typeof value === 'string') return this.blankedText(value);
    if (Array.isArray(value)) return value.map((item: unknown): unknown => this.blanked(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, held]) => [this.blankedText(name), this.blanked(held)]),
    );
  }

  /** A failure that was read out of an answer, without them. */
  blankedFault(problem: Fault): Fault {
    const { cause, ...told } = problem.options;
    const { message, param, details } = told;
    const clean = this.blanked({ message, param, details });
    const isTold = JSON.stringify(clean) !== JSON.stringify({ message, param, details });
    // A cause is redacted too: the log prints all of it.
    const inner = cause instanceof Fault ? this.blankedFault(cause) : cause;
    const isTelling = inner instanceof Error && this.blankedText(String(inner.stack)) !== String(inner.stack);
    if (!isTold && !isTelling && inner === cause) return problem;
    return fault(problem.code, {
      ...told,
      ...withoutAbsent(clean),
      ...(cause === undefined || isTelling ? {} : { cause: inner }),
    });
  }

  private get texts(): Known {
    if (this.known !== null) return this.known;
    const secrets = [...new Set(this.sent.flatMap(textsOf))].filter(({ length }) => length >= SHORTEST);
    // A secret may itself hold what reads like another spelling.
    const read = secrets.map((secret) => decoded(secret).text).filter(({ length }) => length >= SHORTEST);
    this.known = {
      secrets: [...new Set([...secrets, ...read])],
      encodings: secrets.flatMap(encodingsOf),
    };
    return this.known;
  }

  private *rangesIn({ text, places }: Reading): Generator<Range> {
    const lower = text.toLowerCase();
    // Some letters change their length with their case; then their own case has to do.
    const searched = lower.length === text.length ? lower : text;
    const { secrets, encodings } = this.texts;
    for (const secret of secrets) {
      const isWhole = secret.length >= SHORTEST_WITHIN;
      for (const at of placesOf(searched === lower ? secret.toLowerCase() : secret, searched)) {
        const end = at + secret.length;
        if (isWhole || standsAlone(text, at, end)) yield rangeOf(places, at, end);
      }
    }
    for (const encoding of encodings)
      for (const at of placesOf(encoding, text)) yield rangeOf(places, at, at + encoding.length);
  }
}

/** The scheme is no secret; of a signature only its last part is one. */
function textsOf({ credential, headers }: Sent): string[] {
  const parts = Object.entries(credential ?? {}).filter(([name]) => name !== 'kind' && name !== 'id');
  const texts = [...parts.map(([, value]): unknown => value), headers.authorization?.split(/[ =]/).at(-1)];
  return texts.filter((text) => typeof text === 'string');
}

const withoutAbsent = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const asItStands = (text: string): Reading => ({ text, places: null });

/** The text with everything read that may be written in another way. */
function decoded(text: string): Reading {
  if (!/[\\%&]/.test(text)) return { text: '', places: null };
  const places: number[] = [];
  let read = '';
  let at = 0;
  const take = (end: number): void => {
    for (; at < end; at += 1) {
      places.push(at);
      read += text[at];
    }
  };
  for (const match of text.matchAll(writtenOtherwise)) {
    take(match.index);
    const [whole, json, hex, url, page, decimal] = match;
    const code = decimal === undefined ? parseInt(json ?? hex ?? url ?? page ?? '', 16) : Number(decimal);
    if (!Number.isNaN(code)) {
      places.push(at);
      read += String.fromCharCode(code);
    }
    at += whole.length;
  }
  take(text.length);
  places.push(text.length);
  return { text: read, places };
}

function* placesOf(part: string, text: string): Generator<number> {
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) yield at;
}

const rangeOf = (places: Reading['places'], start: number, end: number): Range =>
  places === null ? { start, end } : { start: places[start]!, end: places[end]! };

const standsAlone = (text: string, start: number, end: number): boolean =>
  !/[\w-]/.test(text[start - 1] ?? ' ') && !/[\w-]/.test(text[end] ?? ' ');

/** In base64 a text looks three ways, depending on where it begins; its ends belong to what stands beside it. */
function encodingsOf(secret: string): string[] {
  if (secret.length < SHORTEST_ENCODED) return [];
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
