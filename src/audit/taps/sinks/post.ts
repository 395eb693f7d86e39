import { gzipSync } from 'node:zlib';
import { HOUR_MS, parseJsonText, SECOND_MS } from '../../../kernel';
import type { OutgoingResponse, OutgoingClient } from '../../../platform';
import { type FailureKind, SinkFailure } from '../failure';

const MAX_RESPONSE_BYTES = 65_536;
const MAX_MESSAGE_LENGTH = 200;
const MAX_RETRY_AFTER_MS = HOUR_MS;

export type FailureKinds = Readonly<Partial<Record<number, FailureKind>>>;

export interface SinkPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export const post = (outgoing: OutgoingClient, request: SinkPost): Promise<OutgoingResponse> =>
  outgoing.read(
    {
      url: request.url,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', ...request.headers },
      body: gzipSync(request.body),
      signal: request.signal,
    },
    // The signal fires first, at the tap's own deadline.
    { mostBytes: MAX_RESPONSE_BYTES, deadlineMs: request.timeoutMs + SECOND_MS },
  );

/** Failure that a response stands for. Statuses that are not listed say nothing about the records. */
export function refusal(
  { status, headers, body }: OutgoingResponse,
  kinds: FailureKinds,
  redactAddress: (text: string) => string = (text) => text,
): SinkFailure {
  const message = redactAddress(messageIn(body)).slice(0, MAX_MESSAGE_LENGTH);
  return new SinkFailure(
    kinds[status] ?? 'unknown',
    `it answered with status ${status}${message === '' ? '' : `: ${message}`}`,
    { retryAfterMs: retryAfterIn(headers['retry-after']) },
  );
}

/** Returns the JSON of a response, an empty object for an empty body; undefined for anything else. */
export function jsonIn({ body }: OutgoingResponse): Readonly<Record<string, unknown>> | undefined {
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
  return Number.isFinite(milliseconds) ? Math.min(Math.max(0, milliseconds), MAX_RETRY_AFTER_MS) : 0;
}

/** Returns the error message in its usual spellings; nothing from other data or an HTML page. */
function messageIn(body: Buffer): string {
  const text = body.toString('utf8').trim();
  if (text.startsWith('<')) return '';
  const [, jsonMessage] =
    /"(?:message|error_message|errorMessage|detail|error)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text) ?? [];
  const message = jsonMessage ?? (/^[[{]/.test(text) ? '' : text);
  return message.replace(/\s+/g, ' ');
}
