import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { checkSignature, type S3AccessKey, S3Error } from './signature';
import { Bucket, type StoredObject } from './bucket';

export interface ObjectStoreOptions {
  readonly bucket?: string;
  readonly region?: string;
  readonly key?: S3AccessKey;
  /** Minimum part size in bytes; S3 requires 5 MiB. */
  readonly minPartBytes?: number;
}

/** Injected fault; replaces the normal response for as many requests as configured. */
export type ObjectStoreFault =
  | 'slow-down'
  | 'internal-error'
  | 'access-denied'
  | 'error-behind-200'
  | 'garbage'
  | 'hang'
  /** Cuts the connection before or after the request is carried out. */
  | 'cut-before'
  | 'cut-after'
  | 'error-after'
  /** Sends half of an object. */
  | 'cut-in-body'
  /** Changes one byte of an object. */
  | 'flipped-byte';

export interface ObjectStoreRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
}

/**
 * In-memory object store that rejects what Amazon S3 rejects. Serves one bucket, path-style and, for host names that
 * start with the bucket, virtual-hosted-style.
 */
export class ObjectStoreStandIn {
  readonly requests: ObjectStoreRequest[] = [];
  readonly contents: Bucket;
  readonly bucket: string;
  readonly region: string;
  readonly key: S3AccessKey;
  /** Minimum duration of each request in ms. */
  delayMs = 0;
  /** Clock of the store. */
  now = (): Date => new Date();
  private faults: {
    readonly fault: ObjectStoreFault;
    readonly matches: (request: ObjectStoreRequest) => boolean;
  }[] = [];

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    readonly url: string,
    options: ObjectStoreOptions,
  ) {
    this.bucket = options.bucket ?? 'records';
    this.region = options.region ?? 'eu-central-1';
    this.key = options.key ?? {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    };
    this.contents = new Bucket(options.minPartBytes ?? 5 * 1_024 * 1_024);
  }

  static async open(options: ObjectStoreOptions = {}): Promise<ObjectStoreStandIn> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const store = new ObjectStoreStandIn(server, url, options);
    server.on('request', (request, response) => void store.take(request, response));
    return store;
  }

  /** Value of the storage location setting: the bucket and a prefix. */
  locationText(prefix = ''): string {
    return `s3://${this.bucket}/${prefix}#region=${this.region}&endpoint=${this.url}`;
  }

  get keys(): string[] {
    return [...this.contents.objects.keys()].sort();
  }

  bytesOf(key: string): Buffer | undefined {
    return this.contents.objects.get(key)?.bytes;
  }

  /** Injects a fault into the next requests that match. */
  fail(
    fault: ObjectStoreFault,
    times = 1,
    matches: (request: ObjectStoreRequest) => boolean = () => true,
  ): void {
    for (let count = 0; count < times; count += 1) this.faults.push({ fault, matches });
  }

  heal(): void {
    this.faults = [];
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) pieces.push(piece as Buffer);
    } catch {
      return;
    }
    if (this.delayMs > 0) await delay(this.delayMs);
    const url = new URL(request.url ?? '', this.url);
    const received = {
      method: request.method ?? '',
      path: decodeURIComponent(url.pathname),
      query: url.searchParams,
      headers: request.headers,
    };
    this.requests.push(received);
    const faultIndex = this.faults.findIndex(({ matches: meets }) => meets(received));
    const fault = faultIndex === -1 ? undefined : this.faults.splice(faultIndex, 1)[0]!.fault;
    if (fault === 'hang') return;
    if (fault === 'cut-before') return void request.socket.destroy();
    if (fault === 'garbage')
      return void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway');
    try {
      if (fault === 'slow-down') throw new S3Error(503, 'SlowDown', 'Please reduce your request rate.');
      if (fault === 'access-denied') throw new S3Error(403, 'AccessDenied', 'Access Denied');
      if (fault === 'internal-error')
        throw new S3Error(500, 'InternalError', 'We encountered an internal error.');
      const answer = this.answer(request, received, Buffer.concat(pieces));
      if (fault === 'cut-after') return void request.socket.destroy();
      if (fault === 'error-after')
        throw new S3Error(500, 'InternalError', 'We encountered an internal error.');
      if (fault === 'error-behind-200')
        return send(response, 200, errorXml('InternalError', 'Please try again.', {}));
      this.sendResponse(request, response, answer, fault);
    } catch (error) {
      if (!(error instanceof S3Error)) throw error;
      const { status, code, message, more } = error;
      send(response, status, request.method === 'HEAD' ? '' : errorXml(code, message, more));
    }
  }

  private sendResponse(
    request: IncomingMessage,
    response: ServerResponse,
    answer: ObjectStoreResponse,
    fault?: ObjectStoreFault,
  ): void {
    const { status, headers = {}, body = Buffer.alloc(0) } = answer;
    response.writeHead(status, {
      ...(status === 204 ? {} : { 'content-length': String(body.length) }),
      ...headers,
    });
    if (request.method === 'HEAD') return void response.end();
    if (fault === 'cut-in-body')
      return void response.write(body.subarray(0, body.length / 2), () => response.socket?.destroy());
    if (fault === 'flipped-byte') {
      const changed = Buffer.from(body);
      changed[0] = changed[0]! ^ 1;
      return void response.end(changed);
    }
    response.end(body);
  }

  private answer(request: IncomingMessage, received: ObjectStoreRequest, body: Buffer): ObjectStoreResponse {
    const key = this.keyOf(received);
    checkSignature(request, body, { key: this.key, region: this.region, now: this.now() });
    const { method, query, headers } = received;
    if (method === 'PUT' && headers['content-length'] === undefined)
      throw new S3Error(411, 'MissingContentLength', 'You must provide the Content-Length HTTP header.');
    checkDigests(headers, body);
    if (key === '') return { status: 200, body: Buffer.from(this.contents.list(query, this.bucket)) };
    const id = query.get('uploadId');
    if (method === 'POST' && query.has('uploads')) return this.begin(key, received);
    if (id !== null) return this.handleUpload(key, id, received, body);
    if (method === 'PUT') {
      this.requireAbsent(key, headers);
      return {
        status: 200,
        headers: { etag: this.contents.store(key, body, storedHeadersOf(headers)).etag },
      };
    }
    if (method === 'DELETE') {
      this.contents.objects.delete(key);
      return { status: 204 };
    }
    if (method === 'GET' || method === 'HEAD') return this.read(key, headers);
    throw new S3Error(405, 'MethodNotAllowed', 'The specified method is not allowed against this resource.');
  }

  private keyOf({ path, headers }: ObjectStoreRequest): string {
    if ((headers.host ?? '').startsWith(`${this.bucket}.`)) return path.slice(1);
    const [, bucket = '', key = ''] = /^\/([^/]*)\/?(.*)$/s.exec(path) ?? [];
    if (bucket !== this.bucket)
      throw new S3Error(404, 'NoSuchBucket', 'The specified bucket does not exist', { BucketName: bucket });
    return key;
  }

  private begin(key: string, { headers }: ObjectStoreRequest): ObjectStoreResponse {
    const algorithm = headers['x-amz-checksum-algorithm'];
    if (algorithm !== undefined && algorithm !== 'SHA256')
      throw new S3Error(400, 'InvalidRequest', 'Checksum algorithm provided is unsupported.');
    const id = this.contents.begin(key, storedHeadersOf(headers), algorithm !== undefined);
    const xml = `<InitiateMultipartUploadResult><Bucket>${this.bucket}</Bucket><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`;
    return { status: 200, body: Buffer.from(xml) };
  }

  private handleUpload(
    key: string,
    id: string,
    { method, query, headers }: ObjectStoreRequest,
    body: Buffer,
  ): ObjectStoreResponse {
    if (method === 'PUT') {
      const checksum = headers['x-amz-checksum-sha256'];
      const number = Number(query.get('partNumber'));
      const etag = this.contents.addPart(
        key,
        id,
        number,
        body,
        typeof checksum === 'string' ? checksum : null,
      );
      return { status: 200, headers: { etag } };
    }
    this.contents.upload(key, id);
    if (method === 'DELETE') {
      this.contents.uploads.delete(id);
      return { status: 204 };
    }
    this.requireAbsent(key, headers);
    const { etag } = this.contents.finish(key, id, body.toString());
    const xml = `<CompleteMultipartUploadResult><ETag>${etag.replaceAll('"', '&quot;')}</ETag></CompleteMultipartUploadResult>`;
    return { status: 200, body: Buffer.from(`<?xml version="1.0"?>\n   ${xml}`) };
  }

  private requireAbsent(key: string, headers: IncomingMessage['headers']): void {
    const condition = headers['if-none-match'];
    if (condition === undefined) return;
    if (condition !== '*')
      throw new S3Error(
        501,
        'NotImplemented',
        'A header you provided implies functionality that is not implemented',
      );
    if (this.contents.objects.has(key))
      throw new S3Error(
        412,
        'PreconditionFailed',
        'At least one of the pre-conditions you specified did not hold',
        {
          Condition: 'If-None-Match',
        },
      );
  }

  private read(key: string, headers: IncomingMessage['headers']): ObjectStoreResponse {
    const stored = this.contents.objects.get(key);
    if (stored === undefined) throw new S3Error(404, 'NoSuchKey', 'The specified key does not exist.');
    if (headers['if-match'] !== undefined && headers['if-match'] !== stored.etag)
      throw new S3Error(
        412,
        'PreconditionFailed',
        'At least one of the pre-conditions you specified did not hold',
      );
    const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '');
    const objectHeaders = headersOf(stored);
    if (range === null) return { status: 200, headers: objectHeaders, body: stored.bytes };
    const size = stored.bytes.length;
    const from = Number(range[1]);
    const to = Math.min(range[2] === '' ? size - 1 : Number(range[2]), size - 1);
    if (from > to) throw new S3Error(416, 'InvalidRange', 'The requested range is not satisfiable');
    const part = stored.bytes.subarray(from, to + 1);
    const rangeHeaders = {
      'content-length': String(part.length),
      'content-range': `bytes ${from}-${to}/${size}`,
    };
    return { status: 206, headers: { ...objectHeaders, ...rangeHeaders }, body: part };
  }
}

interface ObjectStoreResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

function checkDigests(headers: IncomingMessage['headers'], body: Buffer): void {
  for (const [name, algorithm] of [
    ['x-amz-checksum-sha256', 'sha256'],
    ['content-md5', 'md5'],
  ] as const) {
    const declaredDigest = headers[name];
    if (
      declaredDigest !== undefined &&
      declaredDigest !== createHash(algorithm).update(body).digest('base64')
    )
      throw new S3Error(
        400,
        'BadDigest',
        `The ${algorithm.toUpperCase()} you specified did not match the calculated checksum.`,
      );
  }
}

const storedHeadersOf = (headers: IncomingMessage['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      /^(content-type|x-amz-meta-.*|x-amz-checksum-sha256)$/.test(name) ? [[name, String(value)]] : [],
    ),
  );

const headersOf = ({ bytes, etag, changedAt, headers }: StoredObject): Record<string, string> => ({
  'content-length': String(bytes.length),
  'last-modified': changedAt.toUTCString(),
  etag,
  ...headers,
});

const errorXml = (code: string, message: string, more: Readonly<Record<string, string>>): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message.replaceAll('<', '&lt;')}</Message>${Object.entries(
    more,
  )
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join('')}<RequestId>4442587FB7D0A2F9</RequestId></Error>`;

const send = (response: ServerResponse, status: number, body: string): void =>
  void response
    .writeHead(status, {
      'content-type': 'application/xml',
      'content-length': String(Buffer.byteLength(body)),
    })
    .end(body);
