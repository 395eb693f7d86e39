import { createHash, type Hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { OpenedResponse } from '../outgoing';
import type { StoreExchange } from './store-exchange';
import { StoreFault } from './store-fault';

/** Inclusive at both ends; without `to`, the range extends to the end. */
export interface ByteRange {
  readonly from: number;
  readonly to?: number;
}

interface ObjectReading {
  readonly headers: IncomingHttpHeaders;
  readonly pieces: AsyncGenerator<Buffer>;
}

/** Opens an object for reading; after a broken connection, reading resumes on the same version of the object. */
export async function openReading(
  exchange: StoreExchange,
  name: string,
  range: ByteRange | undefined,
  signal: AbortSignal | undefined,
): Promise<ObjectReading> {
  const firstResponse = await openAt(exchange, name, { range, signal });
  return { headers: firstResponse.headers, pieces: piecesOf(firstResponse) };

  async function* piecesOf(first: OpenedResponse): AsyncGenerator<Buffer> {
    const { etag, 'content-length': length } = first.headers;
    const check = range === undefined ? checkOf(first.headers) : null;
    let response = first;
    let pieces = iteratorOf(first);
    let [bytesRead, resumedAt] = [0, 0];
    /** Next piece of this response, or of another that resumes where this one broke. */
    const next = async (): Promise<Buffer | null> => {
      try {
        const { done, value } = await pieces.next();
        return done ? null : value;
      } catch (error) {
        if (signal?.aborted || etag === undefined || length === undefined || bytesRead === resumedAt)
          throw error;
        if (bytesRead === Number(length)) return null;
        resumedAt = bytesRead;
        const from = (range?.from ?? 0) + bytesRead;
        const remainingRange = { from, ...(range?.to === undefined ? {} : { to: range.to }) };
        response = await openAt(exchange, name, { range: remainingRange, etag, signal });
        pieces = iteratorOf(response);
        return next();
      }
    };
    try {
      for (let piece = await next(); piece !== null; piece = await next()) {
        check?.hash.update(piece);
        bytesRead += piece.length;
        yield piece;
      }
    } finally {
      response.body.destroy();
    }
    if (check !== null && check.hash.digest('base64') !== check.expected)
      throw new StoreFault(200, '', 'what it sent has another checksum than what was stored');
  }
}

const iteratorOf = ({ body }: OpenedResponse): AsyncIterator<Buffer, undefined> =>
  body.iterator() as AsyncIterator<Buffer, undefined>;

async function openAt(
  exchange: StoreExchange,
  name: string,
  options: { range?: ByteRange | undefined; etag?: string; signal: AbortSignal | undefined },
): Promise<OpenedResponse> {
  const { range, etag, signal } = options;
  const headers = {
    'x-amz-checksum-mode': 'ENABLED',
    ...(range === undefined ? {} : { range: `bytes=${range.from}-${range.to ?? ''}` }),
    ...(etag === undefined ? {} : { 'if-match': etag }),
  };
  return exchange.open({ method: 'GET', name, headers, signal }, [range === undefined ? 200 : 206]);
}

/** An object that was sent in parts has a checksum of checksums, which does not verify its bytes. */
function checkOf(headers: IncomingHttpHeaders): { readonly hash: Hash; readonly expected: string } | null {
  const expected = headers['x-amz-checksum-sha256'];
  if (typeof expected !== 'string' || expected.includes('-')) return null;
  return { hash: createHash('sha256'), expected };
}
