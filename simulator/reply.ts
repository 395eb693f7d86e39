import type { OutgoingHttpHeaders } from 'node:http';

export type Dialect = 'chat' | 'completions' | 'messages' | 'responses' | 'gemini';

/** Waits the prompt asked for. */
export interface Tempo {
  readonly delayMs: number;
  readonly firstTokenMs: number;
  /** Between events; 0 gives each event a turn of the loop, absent sends all at once. */
  readonly paceMs?: number;
}

/** One body, as chunks so that a huge one may repeat the same buffer. */
export interface WholeReply {
  readonly kind: 'whole';
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: readonly Buffer[];
  readonly tempo?: Tempo;
}

/** Server-sent events, ready to be written. */
export interface StreamReply {
  readonly kind: 'stream';
  readonly dialect: Dialect;
  readonly frames: readonly string[];
  /** So many frames at the start carry no token. */
  readonly preamble: number;
  /** So many frames at the end say that the stream is complete. */
  readonly closing: number;
  readonly tempo?: Tempo;
}

export type Reply = WholeReply | StreamReply;

export function jsonReply(body: unknown, options: { status?: number; tempo?: Tempo } = {}): WholeReply {
  return {
    kind: 'whole',
    status: options.status ?? 200,
    headers: { 'content-type': 'application/json' },
    body: [Buffer.from(JSON.stringify(body))],
    ...(options.tempo ? { tempo: options.tempo } : {}),
  };
}

export function bytesReply(contentType: string, body: Buffer): WholeReply {
  return { kind: 'whole', status: 200, headers: { 'content-type': contentType }, body: [body] };
}

/** An unnamed event, as the chat style sends them. */
export function dataFrame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** An event whose name repeats its `type`, as the other styles send them. */
export function namedFrame(value: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
}
