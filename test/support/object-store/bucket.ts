import { createHash } from 'node:crypto';
import { S3Error } from './signature';

export interface StoredObject {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly changedAt: Date;
  readonly headers: Readonly<Record<string, string>>;
}

interface PendingUpload {
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly isChecked: boolean;
  readonly parts: Map<
    number,
    { readonly bytes: Buffer; readonly etag: string; readonly checksum: string | null }
  >;
}

/** In-memory contents of a bucket, by the rules of the Amazon S3 API Reference. */
export class Bucket {
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, PendingUpload>();
  private count = 0;

  constructor(private readonly leastPartBytes: number) {}

  store(
    key: string,
    bytes: Buffer,
    headers: Readonly<Record<string, string>>,
    etag = tagOf(bytes),
  ): StoredObject {
    const stored = { bytes, etag, changedAt: new Date(), headers };
    this.objects.set(key, stored);
    return stored;
  }

  begin(key: string, headers: Readonly<Record<string, string>>, isChecked: boolean): string {
    this.count += 1;
    const id = `upload-${this.count}`;
    this.uploads.set(id, { key, headers, isChecked, parts: new Map() });
    return id;
  }

  addPart(key: string, id: string, number: number, bytes: Buffer, checksum: string | null): string {
    const upload = this.upload(key, id);
    if (!Number.isInteger(number) || number < 1 || number > 10_000)
      throw new S3Error(
        400,
        'InvalidArgument',
        'Part number must be an integer between 1 and 10000, inclusive',
      );
    if (upload.isChecked && checksum === null)
      throw new S3Error(
        400,
        'InvalidRequest',
        'Checksum Type mismatch occurred, expected checksum Type: sha256, actual checksum Type: null',
      );
    const etag = tagOf(bytes);
    upload.parts.set(number, { bytes, etag, checksum });
    return etag;
  }

  finish(key: string, id: string, xml: string): StoredObject {
    const upload = this.upload(key, id);
    const listedParts = [...xml.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = '']) => ({
      number: Number(/<PartNumber>(\d+)<\/PartNumber>/.exec(part)?.[1]),
      etag: /<ETag>(.*?)<\/ETag>/.exec(part)?.[1]?.replaceAll('&quot;', '"'),
      checksum: /<ChecksumSHA256>(.*?)<\/ChecksumSHA256>/.exec(part)?.[1] ?? null,
    }));
    if (listedParts.length === 0)
      throw new S3Error(400, 'MalformedXML', 'The XML you provided was not well-formed or did not validate');
    if (listedParts.some(({ number }, index) => index > 0 && number <= listedParts[index - 1]!.number))
      throw new S3Error(400, 'InvalidPartOrder', 'The list of parts was not in ascending order.');
    const pieces = listedParts.map(({ number, etag, checksum }, index) => {
      const part = upload.parts.get(number);
      if (part === undefined || part.etag !== etag || (upload.isChecked && part.checksum !== checksum))
        throw new S3Error(400, 'InvalidPart', 'One or more of the specified parts could not be found.');
      if (index < listedParts.length - 1 && part.bytes.length < this.leastPartBytes)
        throw new S3Error(
          400,
          'EntityTooSmall',
          'Your proposed upload is smaller than the minimum allowed size',
        );
      return part.bytes;
    });
    this.uploads.delete(id);
    const tags = createHash('md5');
    for (const piece of pieces) tags.update(createHash('md5').update(piece).digest());
    return this.store(key, Buffer.concat(pieces), upload.headers, `"${tags.digest('hex')}-${pieces.length}"`);
  }

  upload(key: string, id: string): PendingUpload {
    const upload = this.uploads.get(id);
    if (upload?.key !== key)
      throw new S3Error(404, 'NoSuchUpload', 'The specified multipart upload does not exist.');
    return upload;
  }

  list(query: URLSearchParams, bucket: string): string {
    const prefix = query.get('prefix') ?? '';
    const pageSize = Math.min(Number(query.get('max-keys') ?? 1_000), this.maxListed);
    const after = Buffer.from(query.get('continuation-token') ?? '', 'base64url');
    const encode = (key: string): string =>
      query.get('encoding-type') === 'url'
        ? encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/')
        : key;
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && Buffer.compare(Buffer.from(key), after) > 0)
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const page = keys.slice(0, pageSize);
    const contents = page.map((key) => {
      const { bytes, etag, changedAt } = this.objects.get(key)!;
      return `<Contents><Key>${encode(key)}</Key><LastModified>${changedAt.toISOString()}</LastModified><ETag>${etag.replaceAll('"', '&quot;')}</ETag><Size>${bytes.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`;
    });
    const isTruncated = keys.length > page.length;
    return [
      '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
      `<Name>${bucket}</Name><Prefix>${encode(prefix)}</Prefix><KeyCount>${page.length}</KeyCount><IsTruncated>${isTruncated}</IsTruncated>`,
      isTruncated
        ? `<NextContinuationToken>${Buffer.from(page.at(-1)!).toString('base64url')}</NextContinuationToken>`
        : '',
      ...contents,
      '</ListBucketResult>',
    ].join('');
  }

  /** Page size limit; lowered by tests of paging. */
  maxListed = 1_000;
}

const tagOf = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`;
