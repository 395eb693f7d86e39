import { createHash } from 'node:crypto';
import type { StoreExchange } from './store-exchange';
import { StoreFault } from './store-fault';
import { escapeXml, textOf } from './store-xml';

// Amazon S3 User Guide, "Amazon S3 multipart upload limits".
const MAX_PARTS = 10_000;

interface UploadedPart {
  readonly etag: string;
  readonly checksum: string;
}

/** An object that is sent in parts, and appears completely or not at all. */
export class MultipartUpload {
  private readonly parts: UploadedPart[] = [];

  private constructor(
    private readonly exchange: StoreExchange,
    private readonly name: string,
    private readonly id: string,
    private readonly hasChecksums: boolean,
    private readonly signal: AbortSignal | undefined,
  ) {}

  static async start(
    exchange: StoreExchange,
    name: string,
    headers: Readonly<Record<string, string>>,
    { checksums, signal }: { readonly checksums: boolean; readonly signal: AbortSignal | undefined },
  ): Promise<MultipartUpload> {
    const checksumHeaders: Record<string, string> = checksums ? { 'x-amz-checksum-algorithm': 'SHA256' } : {};
    const request = {
      method: 'POST',
      name,
      query: { uploads: '' },
      headers: { ...headers, ...checksumHeaders },
    } as const;
    const { body } = await exchange.send({ ...request, signal }, [200]);
    const id = textOf(body.toString('utf8'), 'UploadId');
    if (id === undefined || id === '') throw new StoreFault(200, '', 'it named no upload');
    return new MultipartUpload(exchange, name, id, checksums, signal);
  }

  async send(bytes: Buffer): Promise<void> {
    const number = this.parts.length + 1;
    if (number > MAX_PARTS)
      throw new Error(`an object has at most ${MAX_PARTS} parts: larger ones are needed`);
    const checksum = checksumOf(bytes);
    const { headers } = await this.exchange.send(
      {
        method: 'PUT',
        name: this.name,
        query: { partNumber: String(number), uploadId: this.id },
        headers: this.hasChecksums ? { 'x-amz-checksum-sha256': checksum } : {},
        body: bytes,
        signal: this.signal,
      },
      [200],
    );
    if (headers.etag === undefined) throw new StoreFault(200, '', 'it named no tag of a part');
    this.parts.push({ etag: headers.etag, checksum });
  }

  /** Completes the upload and returns the tag of the object. */
  async finish(headers: Readonly<Record<string, string>>): Promise<string> {
    const partElements = this.parts.map(({ etag, checksum }, index) =>
      [
        `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag>`,
        ...(this.hasChecksums ? [`<ChecksumSHA256>${checksum}</ChecksumSHA256>`] : []),
        '</Part>',
      ].join(''),
    );
    const body = Buffer.from(
      `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${partElements.join('')}</CompleteMultipartUpload>`,
    );
    const response = await this.exchange.send(
      {
        method: 'POST',
        name: this.name,
        query: { uploadId: this.id },
        headers: { ...headers, 'content-type': 'application/xml' },
        body,
        signal: this.signal,
      },
      [200],
    );
    return textOf(response.body.toString('utf8'), 'ETag') ?? '';
  }

  /** Removes the parts, which are charged until then; runs even if no caller waits any more. */
  async abort(): Promise<void> {
    const query = { uploadId: this.id };
    await this.exchange
      .send({ method: 'DELETE', name: this.name, query }, [204, 200, 404])
      .catch(() => undefined);
  }
}

export const checksumOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64');
