import { createHash, type Hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { OpenedAnswer } from '../outgoing';
import type { StoreExchange } from './store-exchange';
import { StoreFault } from './store-fault';

/** Both ends belong to it; without the second, it goes on to the end. */
export interface ByteRange {
  readonly from: number;
  readonly to?: number;
}

interface Reading {
  readonly headers: IncomingHttpHeaders;
  readonly pieces: AsyncGenerator<Buffer>;
}

/** Opens an object; what is read of it is the object of that moment, however often the connection breaks. */
export async function readingOf(
  exchange: StoreExchange,
  name: string,
  range: ByteRange | undefined,
  signal: AbortSignal | undefined,
): Promise<Reading> {
  const opened = await openAt(exchange, name, { range, signal });
  return { headers: opened.headers, pieces: piecesOf(opened) };

  async function* piecesOf(first: OpenedAnswer): AsyncGenerator<Buffer> {
    const { etag, 'content-length': length } = first.headers;
    const check = range === undefined ? checkOf(first.headers) : null;
    let answer = first;
    let pieces = iteratorOf(first);
    let [read, resumedAt] = [0, 0];
    /** The next piece of this answer, or of another that goes on where this one broke. */
    const next = async (): Promise<Buffer | null> => {
      try {
        const { done, value } = await pieces.next();
        return done ? null : value;
      } catch (error) {
        if (signal?.aborted || etag === undefined || length === undefined || read === resumedAt) throw error;
        if (read === Number(length)) return null;
        resumedAt = read;
        const from = (range?.from ?? 0) + read;
        const left = { from, ...(range?.to === undefined ? {} : { to: range.to }) };
        answer = await openAt(exchange, name, { range: left, etag, signal });
        pieces = iteratorOf(answer);
        return next();
      }
    };
    try {
      for (let piece = await next(); piece !== null; piece = await next()) {
        check?.hash.update(piece);
        read += piece.length;
        yield piece;
      }
    } finally {
      answer.body.destroy();
    }
    if (check !== null && check.hash.digest('base64') !== check.expected)
      throw new StoreFault(200, '', 'what it sent has another checksum than what was stored');
  }
}

const iteratorOf = ({ body }: OpenedAnswer): AsyncIterator<Buffer, undefined> =>
  body.iterator() as AsyncIterator<Buffer, undefined>;

async function openAt(
  exchange: StoreExchange,
  name: string,
  asked: { range?: ByteRange | undefined; etag?: string; signal: AbortSignal | undefined },
): Promise<OpenedAnswer> {
  const { range, etag, signal } = asked;
  const headers = {
    'x-amz-checksum-mode': 'ENABLED',
    ...(range === undefined ? {} : { range: `bytes=${range.from}-${range.to ?? ''}` }),
    ...(etag === undefined ? {} : { 'if-match': etag }),
  };
  return exchange.open({ method: 'GET', name, headers, signal }, [range === undefined ? 200 : 206]);
}

/** An object that was sent in parts has a checksum of checksums, which says nothing of its bytes. */
function checkOf(headers: IncomingHttpHeaders): { readonly hash: Hash; readonly expected: string } | null {
  const expected = headers['x-amz-checksum-sha256'];
  if (typeof expected !== 'string' || expected.includes('-')) return null;
  return { hash: createHash('sha256'), expected };
}
