import { gzipSync } from 'node:zlib';
import { errorReply, type Style } from './complaint';
import type { Fault, FaultOf } from './faults';
import { jsonReply, type Reply, type BodyReply } from './reply';

const MEGABYTE_BYTES = 1024 * 1024;
const DEFAULT_BYTES = 100 * MEGABYTE_BYTES;
const filler = Buffer.alloc(64 * 1024, 'a');
const page = Buffer.from('<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>');

/** Returns the reply that a fault substitutes for the real one; undefined if no fault does. */
export function substituteFor(faults: readonly Fault[], style: Style, reply: Reply): BodyReply | undefined {
  for (const fault of faults) {
    const substitute = substituteOf(fault, style, reply);
    if (substitute) return substitute;
  }
  return undefined;
}

function substituteOf(fault: Fault, style: Style, reply: Reply): BodyReply | undefined {
  if (fault.kind === 'status') return statusReply(fault, style);
  if (fault.kind === 'non-json') return createReply('text/html', [page]);
  if (fault.kind === 'empty-body') return createReply('application/json', []);
  if (fault.kind === 'huge-body') return hugeReply(fault.bytes ?? DEFAULT_BYTES, reply.kind === 'stream');
  if (fault.kind === 'gzip-bomb') return gzipBomb(fault.bytes ?? DEFAULT_BYTES);
  if (fault.kind !== 'redirect') return undefined;
  const { status = 302, location = 'http://127.0.0.1:9/elsewhere' } = fault;
  const plainReply = createReply('text/plain', [], status);
  return { ...plainReply, headers: { ...plainReply.headers, location } };
}

function statusReply({ status, body, headers }: FaultOf<'status'>, style: Style): BodyReply {
  const styleReply =
    body === undefined
      ? errorReply(style, { status, message: `The simulator was told to answer ${status}.` })
      : typeof body === 'string'
        ? createReply('text/html', [Buffer.from(body)], status)
        : jsonReply(body, { status });
  return { ...styleReply, headers: { ...styleReply.headers, ...headers } };
}

function createReply(contentType: string, body: readonly Buffer[], status = 200): BodyReply {
  return { kind: 'whole', status, headers: { 'content-type': contentType }, body };
}

/** A well-formed but far too large reply: one text, or one event. */
function hugeReply(bytes: number, isStream: boolean): BodyReply {
  const [open, close] = isStream
    ? ['data: {"choices":[{"index":0,"delta":{"content":"', '"}}]}\n\n']
    : ['{"choices":[{"index":0,"message":{"role":"assistant","content":"', '"}}]}'];
  const repeats = Math.ceil(bytes / filler.length);
  const body = [Buffer.from(open), ...Array.from({ length: repeats }, () => filler), Buffer.from(close)];
  return createReply(isStream ? 'text/event-stream' : 'application/json', body);
}

/** Concatenated gzip members: a ratio of a thousand to one without compressing everything here. */
function gzipBomb(bytes: number): BodyReply {
  const member = gzipSync(Buffer.alloc(MEGABYTE_BYTES, ' '));
  const bombReply = createReply(
    'application/json',
    Array.from({ length: Math.ceil(bytes / MEGABYTE_BYTES) }, () => member),
  );
  return { ...bombReply, headers: { ...bombReply.headers, 'content-encoding': 'gzip' } };
}
