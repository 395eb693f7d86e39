import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import {
  AddressGuard,
  loadSettings,
  ObjectStorage,
  outgoingClient,
  OutgoingClient,
  type StorageCredential,
  storageLocation,
  WireTransport,
} from '../../../src/platform';
import { type ObjectStoreRequest, ObjectStoreStandIn } from '../../support/object-store';

const KIB = 1_024;
let store: ObjectStoreStandIn;
let outgoing: OutgoingClient;

beforeAll(async () => {
  store = await ObjectStoreStandIn.open({ minPartBytes: 4 * KIB });
  outgoing = outgoingClient(loadSettings({ NODE_ENV: 'test' }), [store.url]);
});
afterAll(async () => {
  outgoing.close();
  await store.close();
});
beforeEach(() => {
  store.heal();
  store.requests.length = 0;
  store.contents.objects.clear();
  store.contents.uploads.clear();
  store.now = () => new Date();
});

const pauses: number[] = [];
const client = (
  changes: Partial<StorageCredential> = {},
  place = store.locationText('kept/here'),
): ObjectStorage =>
  new ObjectStorage(
    outgoing,
    storageLocation.read(place)!,
    { ...store.key, ...changes },
    {
      deadlineMs: 2_000,
      pause: (milliseconds) => {
        pauses.push(milliseconds);
        return Promise.resolve();
      },
    },
  );
const requestCount = (method: string): number =>
  store.requests.filter((asked) => asked.method === method).length;
const isCompletion = ({ method, query }: ObjectStoreRequest): boolean =>
  method === 'POST' && query.has('uploadId');
async function* splitInto(bytes: Buffer, size = 1_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield Promise.resolve(bytes.subarray(at, at + size));
}

describe('Stored objects', () => {
  const names = ['plain', 'with blank and +', 'ümläut/ሴ', "q'(u)o*te!", 'a&b=c?d#e', 'deep/er//x', '100%25'];

  test.each(names)('named %s are written, read, listed and removed', async (name) => {
    const storage = client();
    const bytes = randomBytes(300);
    expect(await storage.put(name, bytes, { contentType: 'text/plain' })).toBe('written');
    expect(store.keys).toEqual([`kept/here/${name}`]);
    const content = await storage.get(name);
    expect(content).toMatchObject({ bytes: 300, contentType: 'text/plain' });
    expect(await buffer(content.body)).toEqual(bytes);
    expect(await storage.head(name)).toMatchObject({ bytes: 300, etag: content.etag });
    const listedObjects = await Array.fromAsync(storage.list());
    expect(listedObjects).toMatchObject([{ name, bytes: 300, etag: content.etag }]);
    await storage.delete(name);
    await storage.delete(name);
    expect(await storage.head(name)).toBeNull();
  });

  test('can be empty or text', async () => {
    await client().put('empty', Buffer.alloc(0));
    await client().put('none', splitInto(Buffer.alloc(0)));
    await client().put('text', 'grüße');
    expect(await client().head('empty')).toMatchObject({ bytes: 0 });
    expect(await client().head('none')).toMatchObject({ bytes: 0 });
    expect((await buffer((await client().get('text')).body)).toString()).toBe('grüße');
  });

  test('are read by byte range', async () => {
    const bytes = randomBytes(1_000);
    await client().put('part', bytes);
    const rangeContent = await client().get('part', { range: { from: 100, to: 299 } });
    expect(rangeContent.bytes).toBe(1_000);
    expect(await buffer(rangeContent.body)).toEqual(bytes.subarray(100, 300));
    expect(await buffer((await client().get('part', { range: { from: 990 } })).body)).toEqual(
      bytes.subarray(990),
    );
    await expect(client().get('part', { range: { from: 1_000 } })).rejects.toMatchObject({
      code: 'InvalidRange',
    });
  });

  test('are listed in order over several pages', async () => {
    store.contents.maxListed = 2;
    for (const name of ['c', 'a/2', 'b', 'a/1', 'a/&']) await client().put(name, name);
    expect((await Array.fromAsync(client().list())).map(({ name }) => name)).toEqual([
      'a/&',
      'a/1',
      'a/2',
      'b',
      'c',
    ]);
    expect((await Array.fromAsync(client().list('a/'))).map(({ name }) => name)).toEqual([
      'a/&',
      'a/1',
      'a/2',
    ]);
    store.contents.maxListed = 1_000;
  });

  test('reject names that URLs would change', async () => {
    for (const name of ['../x', 'a/./b', '..', '', 'x'.repeat(1_100)])
      await expect(client().put(name, 'x')).rejects.toThrow(/name/);
    expect(store.requests).toEqual([]);
  });

  test('are written with the bucket as host name too', async () => {
    const location = { ...storageLocation.read(store.locationText())!, style: 'virtual' as const };
    const endpoint = store.url.replace('127.0.0.1', 'objects.example');
    const loopback = { address: '127.0.0.1', prefix: 32, family: 'ipv4' } as const;
    const guard = new AddressGuard([loopback], () => Promise.resolve(['127.0.0.1']));
    const ownClient = new OutgoingClient(new WireTransport(loadSettings({ NODE_ENV: 'test' }), guard));
    await new ObjectStorage(ownClient, { ...location, endpoint }, store.key)
      .put('a b', 'x')
      .finally(() => ownClient.close());
    expect(store.keys).toEqual(['a b']);
    expect(store.requests[0]!.headers.host).toMatch(/^records\.objects\.example:/);
    expect(store.requests[0]!.path).toBe('/a b');
  });
});

describe('Conditional write', () => {
  test('does not overwrite an existing object', async () => {
    expect(await client().put('once', 'first', { ifNew: true })).toBe('written');
    expect(await client().put('once', 'second', { ifNew: true })).toBe('taken');
    expect(store.bytesOf('kept/here/once')?.toString()).toBe('first');
  });

  test.each(['cut-after', 'error-after'] as const)(
    'recognises its own object after a lost response (%s)',
    async (fault) => {
      store.fail(fault);
      expect(await client().put('once', 'first', { ifNew: true })).toBe('written');
      expect(requestCount('PUT')).toBe(2);
      store.fail('cut-before');
      expect(await client().put('once', 'second', { ifNew: true })).toBe('taken');
    },
  );

  test.each(['cut-after', 'error-after', 'error-behind-200'] as const)(
    'recognises its own multipart object after a lost response (%s)',
    async (fault) => {
      const bytes = randomBytes(9 * KIB);
      store.fail(fault, 1, isCompletion);
      const upload = client().put('large', bytes, { partBytes: 4 * KIB, ifNew: true });
      expect(await upload).toBe('written');
      expect(store.bytesOf('kept/here/large')).toEqual(bytes);
      expect(await client().put('large', bytes, { partBytes: 4 * KIB, ifNew: true })).toBe('taken');
      expect(store.contents.uploads.size).toBe(0);
    },
  );
});

describe('Streamed upload', () => {
  test('larger than a part is uploaded in parts regardless of chunk sizes', async () => {
    const bytes = randomBytes(21 * KIB);
    for (const size of [100, 4 * KIB, 30 * KIB]) {
      await client().put('large', splitInto(bytes, size), { partBytes: 4 * KIB });
      expect(store.bytesOf('kept/here/large')).toEqual(bytes);
    }
    expect(store.contents.objects.get('kept/here/large')!.etag).toMatch(/-6"$/);
    expect(await buffer((await client().get('large')).body)).toEqual(bytes);
  });

  test('upload of exactly one part is a single request', async () => {
    await client().put('one', splitInto(randomBytes(4 * KIB)), { partBytes: 4 * KIB });
    expect(store.requests.map(({ method }) => method)).toEqual(['PUT']);
  });

  test('failed upload leaves no parts behind', async () => {
    async function* failingStream(): AsyncGenerator<Buffer> {
      yield* splitInto(randomBytes(9 * KIB));
      throw new Error('the disk is gone');
    }
    await expect(client().put('large', failingStream(), { partBytes: 4 * KIB })).rejects.toThrow(
      'the disk is gone',
    );
    store.fail('internal-error', 4, ({ query }) => query.get('partNumber') === '2');
    const upload = client().put('large', splitInto(randomBytes(9 * KIB)), { partBytes: 4 * KIB });
    await expect(upload).rejects.toMatchObject({ code: 'InternalError', status: 500 });
    expect(store.keys).toEqual([]);
    expect(store.contents.uploads.size).toBe(0);
  });

  test('ends its source when it is aborted', async () => {
    const onEnd = jest.fn();
    const controller = new AbortController();
    async function* endlessStream(): AsyncGenerator<Buffer> {
      try {
        for (let count = 0; ; count += 1) {
          if (count === 20) controller.abort(new Error('it is late'));
          yield await Promise.resolve(randomBytes(KIB));
        }
      } finally {
        onEnd();
      }
    }
    const upload = client().put('large', endlessStream(), { partBytes: 4 * KIB, signal: controller.signal });
    await expect(upload).rejects.toThrow('it is late');
    expect(onEnd).toHaveBeenCalledTimes(1);
    expect(store.contents.uploads.size).toBe(0);
  });

  test('upload with parts that are too small is rejected by the store', async () => {
    await expect(client().put('large', randomBytes(9 * KIB), { partBytes: KIB })).rejects.toMatchObject({
      code: 'EntityTooSmall',
    });
    expect(store.contents.uploads.size).toBe(0);
  });
});

describe('Streamed download', () => {
  test('resumes after a broken connection', async () => {
    const bytes = randomBytes(200 * KIB);
    await client().put('large', bytes);
    store.fail('cut-in-body', 2, ({ method }) => method === 'GET');
    expect(await buffer((await client().get('large')).body)).toEqual(bytes);
    expect(requestCount('GET')).toBe(3);
  });

  test('never joins two versions of an object', async () => {
    await client().put('large', randomBytes(200 * KIB));
    store.fail('cut-in-body', 1, ({ method }) => method === 'GET');
    const { body } = await client().get('large');
    await client().put('large', randomBytes(200 * KIB));
    await expect(buffer(body)).rejects.toMatchObject({ status: 412 });
  });

  test('detects bytes that differ from the stored ones', async () => {
    await client().put('sound', randomBytes(100));
    store.fail('flipped-byte');
    const { body } = await client().get('sound');
    await expect(buffer(body)).rejects.toThrow('another checksum');
  });

  test('closes its connection when it is not read to the end', async () => {
    await client().put('large', randomBytes(2_000 * KIB));
    const { body } = await client().get('large');
    for await (const _chunk of body) break;
    expect(body.destroyed).toBe(true);
    await client().head('large');
    expect(requestCount('GET')).toBe(1);
  });
});

describe('Storage failures', () => {
  test.each(['slow-down', 'internal-error', 'garbage', 'cut-before'] as const)(
    'temporary failure is retried: %s',
    async (fault) => {
      store.fail(fault, 3);
      await client().put('x', 'y');
      expect(requestCount('PUT')).toBe(4);
      store.fail(fault, 4);
      await expect(client().put('x', 'z')).rejects.toThrow();
      expect(store.bytesOf('kept/here/x')?.toString()).toBe('y');
    },
  );

  test('retry delays grow and are jittered', async () => {
    pauses.length = 0;
    store.fail('slow-down', 3);
    await client().put('x', 'y');
    expect(pauses).toHaveLength(3);
    expect(pauses.every((pause, index) => pause <= 200 * 2 ** (index + 1))).toBe(true);
  });

  test('unresponsive store is abandoned at the deadline', async () => {
    store.fail('hang');
    const location = storageLocation.read(store.locationText())!;
    const impatientStorage = new ObjectStorage(outgoing, location, store.key, {
      deadlineMs: 100,
      maxAttempts: 1,
    });
    await expect(impatientStorage.put('x', 'y')).rejects.toThrow('100 ms');
  });

  test.each([
    ['an unknown key', { accessKeyId: 'AKIAUNKNOWN' }, 'InvalidAccessKeyId'],
    ['a wrong secret', { secretAccessKey: 'not-the-secret' }, 'SignatureDoesNotMatch'],
    ['a token that is not its own', { sessionToken: 'x'.repeat(20) }, 'InvalidToken'],
  ])('%s is reported immediately without its text', async (_what, changes, code) => {
    const upload = client(changes).put('x', 'y');
    await expect(upload).rejects.toMatchObject({ code, isDenied: true, isTransient: false });
    await expect(upload).rejects.not.toThrow(Object.values(changes)[0]);
    expect(store.requests).toHaveLength(1);
  });

  test('wrong bucket, region or clock is reported', async () => {
    const otherBucketPlace = store.locationText().replace(store.bucket, 'elsewhere');
    await expect(client({}, otherBucketPlace).put('x', 'y')).rejects.toMatchObject({
      code: 'NoSuchBucket',
      isDenied: true,
    });
    await expect(client({}, otherBucketPlace).delete('x')).rejects.toMatchObject({ code: 'NoSuchBucket' });
    const region = store.locationText().replace(store.region, 'us-west-2');
    await expect(client({}, region).put('x', 'y')).rejects.toThrow(
      /AuthorizationHeaderMalformed.*eu-central-1/,
    );
    store.now = () => new Date(Date.now() + 20 * 60_000);
    await expect(client().put('x', 'y')).rejects.toMatchObject({ code: 'RequestTimeTooSkewed' });
    expect(store.keys).toEqual([]);
  });

  test('missing object is reported', async () => {
    await expect(client().get('missing')).rejects.toMatchObject({ status: 404, code: 'NoSuchKey' });
    expect(await client().head('missing')).toBeNull();
  });

  test('removed multipart upload is reported, and another object is not mistaken for it', async () => {
    const upload = client().put('large', stallingStream(), { partBytes: 4 * KIB });
    await expect(upload).rejects.toMatchObject({ code: 'NoSuchUpload' });
    expect(store.bytesOf('kept/here/large')?.toString()).toBe('another');

    async function* stallingStream(): AsyncGenerator<Buffer> {
      yield* splitInto(randomBytes(9 * KIB));
      store.contents.uploads.clear();
      await client().put('large', 'another');
    }
  });
});

test('storage location is parsed from its text', () => {
  const parsePlace = (text: string) => storageLocation.read(text);
  expect(parsePlace('s3://lake/a/b#region=eu-central-1')).toEqual({
    endpoint: 'https://s3.eu-central-1.amazonaws.com',
    region: 'eu-central-1',
    bucket: 'lake',
    prefix: 'a/b/',
    style: 'virtual',
    checksums: true,
  });
  expect(parsePlace('s3://my.lake#region=cn-north-1')).toMatchObject({
    endpoint: 'https://s3.cn-north-1.amazonaws.com.cn',
    prefix: '',
    style: 'path',
  });
  expect(parsePlace('s3://lake/#endpoint=https://minio.internal:9000&checksums=off')).toMatchObject({
    endpoint: 'https://minio.internal:9000',
    region: 'us-east-1',
    style: 'path',
    checksums: false,
  });
  for (const invalidPlace of [
    's3://lake',
    's3://#region=x1',
    'https://lake.example/x#region=eu-central-1',
    's3://lake/../x#region=eu-central-1',
    's3://lake#region=eu-central-1&key=1',
    's3://lake#endpoint=ftp://a.example',
    's3://lake#endpoint=https://user:pass@a.example',
    's3://lake#region=eu-central-1&style=both',
  ])
    expect(parsePlace(invalidPlace)).toBeUndefined();
});
