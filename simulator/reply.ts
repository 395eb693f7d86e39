import type { OutgoingHttpHeaders } from 'node:http';

export type Dialect = 'chat' | 'completions' | 'messages' | 'responses' | 'gemini';

/** Delays that the prompt requested. */
export interface Tempo {
  readonly delayMs: number;
  readonly firstTokenMs: number;
  /** Delay between events; 0 yields to the event loop between events, absent sends all together. */
  readonly paceMs?: number;
}

/** A non-streaming body in chunks, so that a huge one can repeat the same buffer. */
export interface BodyReply {
  readonly kind: 'whole';
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: readonly Buffer[];
  readonly tempo?: Tempo;
}

/** Server-sent events in their final form. */
export interface StreamReply {
  readonly kind: 'stream';
  readonly dialect: Dialect;
  readonly frames: readonly string[];
  /** Number of frames at the start without a token. */
  readonly preamble: number;
  /** Number of frames at the end that mark the stream as complete. */
  readonly closing: number;
  readonly tempo?: Tempo;
}

export type Reply = BodyReply | StreamReply;

export function jsonReply(body: unknown, options: { status?: number; tempo?: Tempo } = {}): BodyReply {
  return {
    kind: 'whole',
    status: options.status ?? 200,
    headers: { 'content-type': 'application/json' },
    body: [Buffer.from(JSON.stringify(body))],
    ...(options.tempo ? { tempo: options.tempo } : {}),
  };
}

export function bytesReply(contentType: string, body: Buffer): BodyReply {
  return { kind: 'whole', status: 200, headers: { 'content-type': contentType }, body: [body] };
}

/** Formats an unnamed event, as in the Chat Completions style. */
export function dataFrame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** Formats an event named after its `type`, as in the other styles. */
export function namedFrame(value: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
}
