import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { StorageCredential, StorageLocation } from '../config';
import type { OutgoingClient } from '../outgoing';
import { checksumOf, MultipartUpload } from './multipart-upload';
import { type ByteRange, openReading } from './object-reading';
import { StoreExchange, type StoreOptions } from './store-exchange';
import { StoreFault } from './store-fault';
import { elementsOf, decodeName, textOf } from './store-xml';

// Amazon S3 User Guide, "Amazon S3 multipart upload limits": a part but the last has at least 5 MiB.
const DEFAULT_PART_BYTES = 8 * 1_024 * 1_024;
const NAMES_PER_PAGE = 1_000;
/** Marks the writer of an object, so that a writer whose response was lost can recognise it. */
const WRITTEN_BY = 'x-amz-meta-write-id';

export interface PutOptions {
  readonly contentType?: string;
  /** Writes nothing if the name is taken (`If-None-Match: *`). */
  readonly ifNew?: boolean;
  /** Larger objects are sent in parts of this size, at most 10,000. */
  readonly partBytes?: number;
  readonly signal?: AbortSignal;
}

export interface ObjectAttributes {
  readonly bytes: number;
  readonly etag: string;
  readonly contentType: string | null;
  readonly changedAt: Date | null;
}

export interface ListedObject {
  /** Relative to the prefix of the location. */
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
 * A bucket of Amazon S3 or a compatible store. Requests are signed and retried when useful; names are relative to the
 * location's prefix, and the outgoing client has to allow the store's address.
 */
export class ObjectStorage {
  private readonly exchange: StoreExchange;

  constructor(
    outgoing: OutgoingClient,
    readonly location: StorageLocation,
    credential: StorageCredential,
    options: StoreOptions = {},
  ) {
    this.exchange = new StoreExchange(outgoing, location, credential, options);
  }

  /** Writes an object completely or not at all. A stream is held in memory by one part, and one more is read ahead. */
  async put(
    name: string,
    body: Buffer | string | AsyncIterable<Buffer>,
    options: PutOptions = {},
  ): Promise<'written' | 'taken'> {
    const { partBytes = DEFAULT_PART_BYTES } = options;
    const parts = partsOf(body, partBytes);
    const first = await parts.next();
    const bytes = first.done ? Buffer.alloc(0) : first.value.bytes;
    try {
      if (first.done || first.value.isLast) return await this.putComplete(name, bytes, options);
      return await this.putParts(name, bytes, parts, options);
    } finally {
      await parts.return(undefined);
    }
  }

  /** Returns when the headers are there, and streams the body. Reading resumes where a connection broke. */
  async get(
    name: string,
    { range, signal }: GetOptions = {},
  ): Promise<ObjectAttributes & { readonly body: Readable }> {
    const { headers, pieces } = await openReading(this.exchange, name, range, signal);
    return { ...attributesOf(headers), body: Readable.from(pieces, { objectMode: false }) };
  }

  /** Null if there is no such object. */
  async head(name: string, signal?: AbortSignal): Promise<ObjectAttributes | null> {
    const headers = await this.headersOf(name, signal);
    return headers === null ? null : attributesOf(headers);
  }

  /** Lists objects in the byte order of their names. */
  async *list(prefix = '', signal?: AbortSignal): AsyncGenerator<ListedObject> {
    const start = this.location.prefix + prefix;
    for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        'max-keys': String(NAMES_PER_PAGE),
        prefix: start,
        ...(token === undefined ? {} : { 'continuation-token': token }),
      };
      const { body } = await this.exchange.send({ method: 'GET', query, signal }, [200]);
      const xml = body.toString('utf8');
      if (elementsOf(xml, 'ListBucketResult').length === 0) throw new StoreFault(200, '', 'that was no list');
      for (const element of elementsOf(xml, 'Contents')) yield this.parseListedObject(element);
      token = textOf(xml, 'IsTruncated') === 'true' ? textOf(xml, 'NextContinuationToken') : undefined;
    }
  }

  /** Deleting an object that does not exist succeeds. */
  async delete(name: string, signal?: AbortSignal): Promise<void> {
    await this.exchange.send({ method: 'DELETE', name, signal }, [204, 200]).catch((error: unknown) => {
      if (!(error instanceof StoreFault) || error.code !== 'NoSuchKey') throw error;
    });
  }

  private async putComplete(name: string, body: Buffer, options: PutOptions): Promise<'written' | 'taken'> {
    const { ifNew = false, signal } = options;
    const id = randomUUID();
    const headers = {
      ...headersFor(options, id),
      ...(this.location.checksums ? { 'x-amz-checksum-sha256': checksumOf(body) } : {}),
      ...(ifNew ? { 'if-none-match': '*' } : {}),
    };
    try {
      const response = await this.exchange.send({ method: 'PUT', name, headers, body, signal }, [200]);
      // A server that is not a store might respond 200 to everything.
      if (response.headers.etag === undefined) throw new StoreFault(200, '', 'it named no tag');
      return 'written';
    } catch (error) {
      return this.resolveOutcome(error, { name, id, signal });
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
    const uploadOptions = { checksums: this.location.checksums, signal };
    const upload = await MultipartUpload.start(this.exchange, name, headersFor(options, id), uploadOptions);
    try {
      await upload.send(first);
      for await (const { bytes } of others) await upload.send(bytes);
      try {
        await upload.finish(ifNew ? { 'if-none-match': '*' } : {});
        return 'written';
      } catch (error) {
        const outcome = await this.resolveOutcome(error, { name, id, signal });
        if (outcome === 'taken') await upload.abort();
        return outcome;
      }
    } catch (error) {
      await upload.abort();
      throw error;
    }
  }

  /** A rejection can be the echo of an earlier attempt that was carried out: then the object is ours. */
  private async resolveOutcome(
    error: unknown,
    { name, id, signal }: { name: string; id: string; signal: AbortSignal | undefined },
  ): Promise<'written' | 'taken'> {
    if (!(error instanceof StoreFault) || !(error.status === 412 || error.status === 404)) throw error;
    if (error.mightBeDone && (await this.headersOf(name, signal))?.[WRITTEN_BY] === id) return 'written';
    if (error.status === 412) return 'taken';
    throw error;
  }

  private async headersOf(name: string, signal?: AbortSignal): Promise<IncomingHttpHeaders | null> {
    const { status, headers } = await this.exchange.send({ method: 'HEAD', name, signal }, [200, 404]);
    return status === 404 ? null : headers;
  }

  private parseListedObject(xml: string): ListedObject {
    return {
      name: decodeName(textOf(xml, 'Key') ?? '').slice(this.location.prefix.length),
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

function attributesOf(headers: IncomingHttpHeaders): ObjectAttributes {
  const totalBytes = /\/(\d+)$/.exec(headers['content-range'] ?? '')?.[1] ?? headers['content-length'];
  const { etag = '', 'content-type': contentType = null, 'last-modified': lastModified } = headers;
  return {
    bytes: Number(totalBytes ?? Number.NaN),
    etag,
    contentType,
    changedAt: lastModified === undefined ? null : new Date(lastModified),
  };
}

/** Yields parts of one size; the last can be shorter, and is marked as the last. */
async function* partsOf(
  body: Buffer | string | AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  const pieces = typeof body === 'string' || Buffer.isBuffer(body) ? [Buffer.from(body)] : body;
  let buffered: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    buffered.push(piece);
    bytes += piece.length;
    // A part is known not to be the last only once more than one part is there.
    while (bytes > size) {
      const all = buffered.length === 1 ? buffered[0]! : Buffer.concat(buffered);
      yield { bytes: all.subarray(0, size), isLast: false };
      buffered = [all.subarray(size)];
      bytes -= size;
    }
  }
  if (bytes > 0) yield { bytes: Buffer.concat(buffered), isLast: true };
}
