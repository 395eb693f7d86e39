import { gzipSync } from 'node:zlib';
import { HOUR_MS, parseJsonText, SECOND_MS } from '../../../kernel';
import type { OutgoingAnswer, OutgoingClient } from '../../../platform';
import { type FailureKind, SinkFailure } from '../failure';

const MOST_ANSWER_BYTES = 65_536;
const MAX_WORDS_CHARACTERS = 200;
const LONGEST_RETRY_AFTER_MS = HOUR_MS;

/** What a status says of the records. */
export type FailureKinds = Readonly<Partial<Record<number, FailureKind>>>;

export interface Posted {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Sends JSON, compressed. */
export const post = (outgoing: OutgoingClient, posted: Posted): Promise<OutgoingAnswer> =>
  outgoing.read(
    {
      url: posted.url,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', ...posted.headers },
      body: gzipSync(posted.body),
      signal: posted.signal,
    },
    // The signal comes first, at the tap's own deadline.
    { mostBytes: MOST_ANSWER_BYTES, deadlineMs: posted.timeoutMs + SECOND_MS },
  );

/** The failure that an answer stands for. Statuses that are not named say nothing of the records. */
export function refusal(
  { status, headers, body }: OutgoingAnswer,
  kinds: FailureKinds,
  redactAddress: (text: string) => string = (text) => text,
): SinkFailure {
  const words = redactAddress(wordsIn(body)).slice(0, MAX_WORDS_CHARACTERS);
  return new SinkFailure(
    kinds[status] ?? 'unknown',
    `it answered with status ${status}${words === '' ? '' : `: ${words}`}`,
    { retryAfterMs: retryAfterIn(headers['retry-after']) },
  );
}

/** What an answer in JSON says; undefined where it is something else. An empty one says nothing. */
export function jsonIn({ body }: OutgoingAnswer): Readonly<Record<string, unknown>> | undefined {
  const text = body.toString('utf8').trim();
  if (text === '') return {};
  try {
    const value = parseJsonText(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Seconds, or a date (RFC 9110, 10.2.3). */
function retryAfterIn(value: string | undefined, now = Date.now()): number {
  if (value === undefined) return 0;
  const milliseconds = /^\d{1,9}$/.test(value) ? Number(value) * SECOND_MS : Date.parse(value) - now;
  return Number.isFinite(milliseconds) ? Math.min(Math.max(0, milliseconds), LONGEST_RETRY_AFTER_MS) : 0;
}

/** The words of an error, as most services spell it; nothing of other data, or of a page for people. */
function wordsIn(body: Buffer): string {
  const text = body.toString('utf8').trim();
  if (text.startsWith('<')) return '';
  const [, spelled] =
    /"(?:message|error_message|errorMessage|detail|error)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text) ?? [];
  const words = spelled ?? (/^[[{]/.test(text) ? '' : text);
  return words.replace(/\s+/g, ' ');
}
