import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { StorageCredential, StoragePlace } from '../config';
import type { OutgoingClient } from '../outgoing';
import { checksumOf, MultipartUpload } from './multipart-upload';
import { type ByteRange, readingOf } from './object-reading';
import { StoreExchange, type StoreOptions } from './store-exchange';
import { StoreFault } from './store-fault';
import { elementsOf, nameIn, textOf } from './store-xml';

// Amazon S3 User Guide, "Amazon S3 multipart upload limits": a part but the last has at least 5 MiB.
const USUAL_PART_BYTES = 8 * 1_024 * 1_024;
const NAMES_A_PAGE = 1_000;
/** It marks who wrote an object, so that a writer whose answer was lost can tell. */
const WRITTEN_BY = 'x-amz-meta-write-id';

export interface PutOptions {
  readonly contentType?: string;
  /** Nothing is written where the name is taken (`If-None-Match: *`). */
  readonly ifNew?: boolean;
  /** What is larger goes in parts of this size; 10,000 of them at most. */
  readonly partBytes?: number;
  readonly signal?: AbortSignal;
}

export interface ObjectFacts {
  readonly bytes: number;
  readonly etag: string;
  readonly contentType: string | null;
  readonly changedAt: Date | null;
}

export interface ListedObject {
  /** Behind the prefix of the place. */
  readonly name: string;
  readonly bytes: number;
  readonly etag: string;
  readonly changedAt: Date;
}

export interface GetOptions {
  readonly range?: ByteRange;
  readonly signal?: AbortSignal;
}

/**
 * A bucket of Amazon S3 or of a store that speaks as it does. Requests are signed and sent again where that may help;
 * names are those behind the prefix of the place. The outgoing client has to allow the address of the store.
 */
export class ObjectStorage {
  private readonly exchange: StoreExchange;

  constructor(
    outgoing: OutgoingClient,
    readonly place: StoragePlace,
    credential: StorageCredential,
    options: StoreOptions = {},
  ) {
    this.exchange = new StoreExchange(outgoing, place, credential, options);
  }

  /** Writes an object whole or not at all. A stream is held in memory by one part, and one more is read ahead. */
  async put(
    name: string,
    body: Buffer | string | AsyncIterable<Buffer>,
    options: PutOptions = {},
  ): Promise<'written' | 'taken'> {
    const { partBytes = USUAL_PART_BYTES } = options;
    const parts = partsOf(body, partBytes);
    const first = await parts.next();
    const bytes = first.done ? Buffer.alloc(0) : first.value.bytes;
    try {
      if (first.done || first.value.isLast) return await this.putWhole(name, bytes, options);
      return await this.putParts(name, bytes, parts, options);
    } finally {
      await parts.return(undefined);
    }
  }

  /** The head is there, and the body comes as it is read. A connection that breaks is taken up where it broke. */
  async get(
    name: string,
    { range, signal }: GetOptions = {},
  ): Promise<ObjectFacts & { readonly body: Readable }> {
    const { headers, pieces } = await readingOf(this.exchange, name, range, signal);
    return { ...factsOf(headers), body: Readable.from(pieces, { objectMode: false }) };
  }

  /** Null where there is no such object. */
  async head(name: string, signal?: AbortSignal): Promise<ObjectFacts | null> {
    const found = await this.headersOf(name, signal);
    return found === null ? null : factsOf(found);
  }

  /** In the order of their bytes. */
  async *list(prefix = '', signal?: AbortSignal): AsyncGenerator<ListedObject> {
    const start = this.place.prefix + prefix;
    for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        'max-keys': String(NAMES_A_PAGE),
        prefix: start,
        ...(token === undefined ? {} : { 'continuation-token': token }),
      };
      const { body } = await this.exchange.ask({ method: 'GET', query, signal }, [200]);
      const xml = body.toString('utf8');
      if (elementsOf(xml, 'ListBucketResult').length === 0) throw new StoreFault(200, '', 'that was no list');
      for (const listed of elementsOf(xml, 'Contents')) yield this.listedIn(listed);
      token = textOf(xml, 'IsTruncated') === 'true' ? textOf(xml, 'NextContinuationToken') : undefined;
    }
  }

  /** One that is not there is gone already. */
  async delete(name: string, signal?: AbortSignal): Promise<void> {
    await this.exchange.ask({ method: 'DELETE', name, signal }, [204, 200]).catch((error: unknown) => {
      if (!(error instanceof StoreFault) || error.code !== 'NoSuchKey') throw error;
    });
  }

  private async putWhole(name: string, body: Buffer, options: PutOptions): Promise<'written' | 'taken'> {
    const { ifNew = false, signal } = options;
    const id = randomUUID();
    const headers = {
      ...headersFor(options, id),
      ...(this.place.checksums ? { 'x-amz-checksum-sha256': checksumOf(body) } : {}),
      ...(ifNew ? { 'if-none-match': '*' } : {}),
    };
    try {
      const answer = await this.exchange.ask({ method: 'PUT', name, headers, body, signal }, [200]);
      // Something else than a store may say 200 to everything.
      if (answer.headers.etag === undefined) throw new StoreFault(200, '', 'it named no tag');
      return 'written';
    } catch (error) {
      return this.judged(error, { name, id, signal });
    }
  }

  private async putParts(
    name: string,
    first: Buffer,
    others: AsyncGenerator<{ bytes: Buffer }>,
    options: PutOptions,
  ): Promise<'written' | 'taken'> {
    const { ifNew = false, signal } = options;
    const id = randomUUID();
    const terms = { checksums: this.place.checksums, signal };
    const upload = await MultipartUpload.begin(this.exchange, name, headersFor(options, id), terms);
    try {
      await upload.send(first);
      for await (const { bytes } of others) await upload.send(bytes);
      try {
        await upload.finish(ifNew ? { 'if-none-match': '*' } : {});
        return 'written';
      } catch (error) {
        const outcome = await this.judged(error, { name, id, signal });
        if (outcome === 'taken') await upload.abort();
        return outcome;
      }
    } catch (error) {
      await upload.abort();
      throw error;
    }
  }

  /** A refusal may be the echo of an earlier try that was carried out: then the object is ours. */
  private async judged(
    error: unknown,
    { name, id, signal }: { name: string; id: string; signal: AbortSignal | undefined },
  ): Promise<'written' | 'taken'> {
    if (!(error instanceof StoreFault) || !(error.status === 412 || error.status === 404)) throw error;
    if (error.mayBeDone && (await this.headersOf(name, signal))?.[WRITTEN_BY] === id) return 'written';
    if (error.status === 412) return 'taken';
    throw error;
  }

  private async headersOf(name: string, signal?: AbortSignal): Promise<IncomingHttpHeaders | null> {
    const { status, headers } = await this.exchange.ask({ method: 'HEAD', name, signal }, [200, 404]);
    return status === 404 ? null : headers;
  }

  private listedIn(xml: string): ListedObject {
    return {
      name: nameIn(textOf(xml, 'Key') ?? '').slice(this.place.prefix.length),
      bytes: Number(textOf(xml, 'Size')),
      etag: textOf(xml, 'ETag') ?? '',
      changedAt: new Date(textOf(xml, 'LastModified') ?? Number.NaN),
    };
  }
}

const headersFor = ({ contentType = 'application/octet-stream' }: PutOptions, id: string) => ({
  'content-type': contentType,
  [WRITTEN_BY]: id,
});

function factsOf(headers: IncomingHttpHeaders): ObjectFacts {
  const whole = /\/(\d+)$/.exec(headers['content-range'] ?? '')?.[1] ?? headers['content-length'];
  const { etag = '', 'content-type': contentType = null, 'last-modified': changed } = headers;
  return {
    bytes: Number(whole ?? Number.NaN),
    etag,
    contentType,
    changedAt: changed === undefined ? null : new Date(changed),
  };
}

/** Parts of one size; the last may be shorter, and says that it is the last. */
async function* partsOf(
  body: Buffer | string | AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  const pieces = typeof body === 'string' || Buffer.isBuffer(body) ? [Buffer.from(body)] : body;
  let held: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    held.push(piece);
    bytes += piece.length;
    // More than one part has to be there before one of them is known not to be the last.
    while (bytes > size) {
      const all = held.length === 1 ? held[0]! : Buffer.concat(held);
      yield { bytes: all.subarray(0, size), isLast: false };
      held = [all.subarray(size)];
      bytes -= size;
    }
  }
  if (bytes > 0) yield { bytes: Buffer.concat(held), isLast: true };
}
