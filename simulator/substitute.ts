import { gzipSync } from 'node:zlib';
import { errorReply, type Style } from './complaint';
import type { Fault, FaultOf } from './faults';
import { jsonReply, type Reply, type WholeReply } from './reply';

const megabyte = 1024 * 1024;
const defaultBytes = 100 * megabyte;
const filler = Buffer.alloc(64 * 1024, 'a');
const page = Buffer.from('<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>');

/** The reply a fault puts in the place of the real one; undefined when none does. */
export function substituteFor(faults: readonly Fault[], style: Style, reply: Reply): WholeReply | undefined {
  for (const fault of faults) {
    const substitute = substituteOf(fault, style, reply);
    if (substitute) return substitute;
  }
  return undefined;
}

function substituteOf(fault: Fault, style: Style, reply: Reply): WholeReply | undefined {
  if (fault.kind === 'status') return statusReply(fault, style);
  if (fault.kind === 'non-json') return whole('text/html', [page]);
  if (fault.kind === 'empty-body') return whole('application/json', []);
  if (fault.kind === 'huge-body') return hugeReply(fault.bytes ?? defaultBytes, reply.kind === 'stream');
  if (fault.kind === 'gzip-bomb') return gzipBomb(fault.bytes ?? defaultBytes);
  if (fault.kind !== 'redirect') return undefined;
  const { status = 302, location = 'http://127.0.0.1:9/elsewhere' } = fault;
  const own = whole('text/plain', [], status);
  return { ...own, headers: { ...own.headers, location } };
}

function statusReply({ status, body, headers }: FaultOf<'status'>, style: Style): WholeReply {
  const own =
    body === undefined
      ? errorReply(style, { status, message: `The simulator was told to answer ${status}.` })
      : typeof body === 'string'
        ? whole('text/html', [Buffer.from(body)], status)
        : jsonReply(body, { status });
  return { ...own, headers: { ...own.headers, ...headers } };
}

function whole(contentType: string, body: readonly Buffer[], status = 200): WholeReply {
  return { kind: 'whole', status, headers: { 'content-type': contentType }, body };
}

/** Well-formed all the way, and far too long: one text, or one event. */
function hugeReply(bytes: number, isStream: boolean): WholeReply {
  const [open, close] = isStream
    ? ['data: {"choices":[{"index":0,"delta":{"content":"', '"}}]}\n\n']
    : ['{"choices":[{"index":0,"message":{"role":"assistant","content":"', '"}}]}'];
  const repeats = Math.ceil(bytes / filler.length);
  const body = [Buffer.from(open), ...Array.from({ length: repeats }, () => filler), Buffer.from(close)];
  return whole(isStream ? 'text/event-stream' : 'application/json', body);
}

/** Gzip members may follow one another: a thousand to one, without packing all of it here. */
function gzipBomb(bytes: number): WholeReply {
  const member = gzipSync(Buffer.alloc(megabyte, ' '));
  const own = whole(
    'application/json',
    Array.from({ length: Math.ceil(bytes / megabyte) }, () => member),
  );
  return { ...own, headers: { ...own.headers, 'content-encoding': 'gzip' } };
}
