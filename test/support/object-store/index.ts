import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { checkSignature, type KnownKey, Refusal } from './signature';
import { Shelf, type StoredObject } from './shelf';

export interface StandInOptions {
  readonly bucket?: string;
  readonly region?: string;
  readonly key?: KnownKey;
  /** S3 demands 5 MiB. */
  readonly leastPartBytes?: number;
}

/** What a request meets instead of its answer, as often as it is listed. */
export type Fault =
  | 'slow-down'
  | 'internal-error'
  | 'access-denied'
  | 'error-behind-200'
  | 'garbage'
  | 'hang'
  /** The connection is cut before or after the request was carried out. */
  | 'cut-before'
  | 'cut-after'
  | 'error-after'
  /** Half of an object comes. */
  | 'cut-in-body'
  /** One byte of an object is another. */
  | 'flipped-byte';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
}

/**
 * An object store in memory that refuses what Amazon S3 refuses. It serves one bucket, under its path and, for hosts
 * that begin with the name of the bucket, at the root.
 */
export class ObjectStoreStandIn {
  readonly asked: Asked[] = [];
  readonly shelf: Shelf;
  readonly bucket: string;
  readonly region: string;
  readonly key: KnownKey;
  /** Each request takes this long at least. */
  delayMs = 0;
  /** Its clock. */
  now = (): Date => new Date();
  private faults: { readonly fault: Fault; readonly meets: (asked: Asked) => boolean }[] = [];

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    readonly url: string,
    options: StandInOptions,
  ) {
    this.bucket = options.bucket ?? 'records';
    this.region = options.region ?? 'eu-central-1';
    this.key = options.key ?? {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    };
    this.shelf = new Shelf(options.leastPartBytes ?? 5 * 1_024 * 1_024);
  }

  static async open(options: StandInOptions = {}): Promise<ObjectStoreStandIn> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const store = new ObjectStoreStandIn(server, url, options);
    server.on('request', (request, response) => void store.take(request, response));
    return store;
  }

  /** As the setting of a place: in this bucket, behind a prefix. */
  placeText(prefix = ''): string {
    return `s3://${this.bucket}/${prefix}#region=${this.region}&endpoint=${this.url}`;
  }

  get keys(): string[] {
    return [...this.shelf.objects.keys()].sort();
  }

  bytesOf(key: string): Buffer | undefined {
    return this.shelf.objects.get(key)?.bytes;
  }

  /** The next requests that it meets fall to it. */
  fail(fault: Fault, times = 1, meets: (asked: Asked) => boolean = () => true): void {
    for (let count = 0; count < times; count += 1) this.faults.push({ fault, meets });
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
    const asked = {
      method: request.method ?? '',
      path: decodeURIComponent(url.pathname),
      query: url.searchParams,
      headers: request.headers,
    };
    this.asked.push(asked);
    const place = this.faults.findIndex(({ meets }) => meets(asked));
    const fault = place === -1 ? undefined : this.faults.splice(place, 1)[0]!.fault;
    if (fault === 'hang') return;
    if (fault === 'cut-before') return void request.socket.destroy();
    if (fault === 'garbage')
      return void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway');
    try {
      if (fault === 'slow-down') throw new Refusal(503, 'SlowDown', 'Please reduce your request rate.');
      if (fault === 'access-denied') throw new Refusal(403, 'AccessDenied', 'Access Denied');
      if (fault === 'internal-error')
        throw new Refusal(500, 'InternalError', 'We encountered an internal error.');
      const answer = this.answer(request, asked, Buffer.concat(pieces));
      if (fault === 'cut-after') return void request.socket.destroy();
      if (fault === 'error-after')
        throw new Refusal(500, 'InternalError', 'We encountered an internal error.');
      if (fault === 'error-behind-200')
        return send(response, 200, errorXml('InternalError', 'Please try again.', {}));
      this.give(request, response, answer, fault);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, code, message, more } = error;
      send(response, status, request.method === 'HEAD' ? '' : errorXml(code, message, more));
    }
  }

  private give(request: IncomingMessage, response: ServerResponse, answer: Answer, fault?: Fault): void {
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

  private answer(request: IncomingMessage, asked: Asked, body: Buffer): Answer {
    const key = this.keyOf(asked);
    checkSignature(request, body, { key: this.key, region: this.region, now: this.now() });
    const { method, query, headers } = asked;
    if (method === 'PUT' && headers['content-length'] === undefined)
      throw new Refusal(411, 'MissingContentLength', 'You must provide the Content-Length HTTP header.');
    checkDigests(headers, body);
    if (key === '') return { status: 200, body: Buffer.from(this.shelf.list(query, this.bucket)) };
    const id = query.get('uploadId');
    if (method === 'POST' && query.has('uploads')) return this.begin(key, asked);
    if (id !== null) return this.inUpload(key, id, asked, body);
    if (method === 'PUT') {
      this.refuseWhereTaken(key, headers);
      return { status: 200, headers: { etag: this.shelf.store(key, body, keptOf(headers)).etag } };
    }
    if (method === 'DELETE') {
      this.shelf.objects.delete(key);
      return { status: 204 };
    }
    if (method === 'GET' || method === 'HEAD') return this.read(key, headers);
    throw new Refusal(405, 'MethodNotAllowed', 'The specified method is not allowed against this resource.');
  }

  private keyOf({ path, headers }: Asked): string {
    if ((headers.host ?? '').startsWith(`${this.bucket}.`)) return path.slice(1);
    const [, bucket = '', key = ''] = /^\/([^/]*)\/?(.*)$/s.exec(path) ?? [];
    if (bucket !== this.bucket)
      throw new Refusal(404, 'NoSuchBucket', 'The specified bucket does not exist', { BucketName: bucket });
    return key;
  }

  private begin(key: string, { headers }: Asked): Answer {
    const algorithm = headers['x-amz-checksum-algorithm'];
    if (algorithm !== undefined && algorithm !== 'SHA256')
      throw new Refusal(400, 'InvalidRequest', 'Checksum algorithm provided is unsupported.');
    const id = this.shelf.begin(key, keptOf(headers), algorithm !== undefined);
    const xml = `<InitiateMultipartUploadResult><Bucket>${this.bucket}</Bucket><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`;
    return { status: 200, body: Buffer.from(xml) };
  }

  private inUpload(key: string, id: string, { method, query, headers }: Asked, body: Buffer): Answer {
    if (method === 'PUT') {
      const checksum = headers['x-amz-checksum-sha256'];
      const number = Number(query.get('partNumber'));
      const etag = this.shelf.addPart(key, id, number, body, typeof checksum === 'string' ? checksum : null);
      return { status: 200, headers: { etag } };
    }
    this.shelf.upload(key, id);
    if (method === 'DELETE') {
      this.shelf.uploads.delete(id);
      return { status: 204 };
    }
    this.refuseWhereTaken(key, headers);
    const { etag } = this.shelf.finish(key, id, body.toString());
    const xml = `<CompleteMultipartUploadResult><ETag>${etag.replaceAll('"', '&quot;')}</ETag></CompleteMultipartUploadResult>`;
    return { status: 200, body: Buffer.from(`<?xml version="1.0"?>\n   ${xml}`) };
  }

  private refuseWhereTaken(key: string, headers: IncomingMessage['headers']): void {
    const condition = headers['if-none-match'];
    if (condition === undefined) return;
    if (condition !== '*')
      throw new Refusal(
        501,
        'NotImplemented',
        'A header you provided implies functionality that is not implemented',
      );
    if (this.shelf.objects.has(key))
      throw new Refusal(
        412,
        'PreconditionFailed',
        'At least one of the pre-conditions you specified did not hold',
        {
          Condition: 'If-None-Match',
        },
      );
  }

  private read(key: string, headers: IncomingMessage['headers']): Answer {
    const stored = this.shelf.objects.get(key);
    if (stored === undefined) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.');
    if (headers['if-match'] !== undefined && headers['if-match'] !== stored.etag)
      throw new Refusal(
        412,
        'PreconditionFailed',
        'At least one of the pre-conditions you specified did not hold',
      );
    const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '');
    const told = headersOf(stored);
    if (range === null) return { status: 200, headers: told, body: stored.bytes };
    const size = stored.bytes.length;
    const from = Number(range[1]);
    const to = Math.min(range[2] === '' ? size - 1 : Number(range[2]), size - 1);
    if (from > to) throw new Refusal(416, 'InvalidRange', 'The requested range is not satisfiable');
    const part = stored.bytes.subarray(from, to + 1);
    const own = { 'content-length': String(part.length), 'content-range': `bytes ${from}-${to}/${size}` };
    return { status: 206, headers: { ...told, ...own }, body: part };
  }
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

function checkDigests(headers: IncomingMessage['headers'], body: Buffer): void {
  for (const [name, algorithm] of [
    ['x-amz-checksum-sha256', 'sha256'],
    ['content-md5', 'md5'],
  ] as const) {
    const told = headers[name];
    if (told !== undefined && told !== createHash(algorithm).update(body).digest('base64'))
      throw new Refusal(
        400,
        'BadDigest',
        `The ${algorithm.toUpperCase()} you specified did not match the calculated checksum.`,
      );
  }
}

const keptOf = (headers: IncomingMessage['headers']): Record<string, string> =>
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
