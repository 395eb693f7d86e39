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
import { type Asked, ObjectStoreStandIn } from '../../support/object-store';

const KIB = 1_024;
let store: ObjectStoreStandIn;
let outgoing: OutgoingClient;

beforeAll(async () => {
  store = await ObjectStoreStandIn.open({ leastPartBytes: 4 * KIB });
  outgoing = outgoingClient(loadSettings({ NODE_ENV: 'test' }), [store.url]);
});
afterAll(async () => {
  outgoing.close();
  await store.close();
});
beforeEach(() => {
  store.heal();
  store.asked.length = 0;
  store.shelf.objects.clear();
  store.shelf.uploads.clear();
  store.now = () => new Date();
});

const pauses: number[] = [];
const client = (
  changes: Partial<StorageCredential> = {},
  place = store.placeText('kept/here'),
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
const times = (method: string): number => store.asked.filter((asked) => asked.method === method).length;
const isFinish = ({ method, query }: Asked): boolean => method === 'POST' && query.has('uploadId');
async function* inPieces(bytes: Buffer, size = 1_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield Promise.resolve(bytes.subarray(at, at + size));
}

describe('objects', () => {
  const names = ['plain', 'with blank and +', 'ümläut/ሴ', "q'(u)o*te!", 'a&b=c?d#e', 'deep/er//x', '100%25'];

  test.each(names)('named %s are written, read, listed and removed', async (name) => {
    const storage = client();
    const bytes = randomBytes(300);
    expect(await storage.put(name, bytes, { contentType: 'text/plain' })).toBe('written');
    expect(store.keys).toEqual([`kept/here/${name}`]);
    const read = await storage.get(name);
    expect(read).toMatchObject({ bytes: 300, contentType: 'text/plain' });
    expect(await buffer(read.body)).toEqual(bytes);
    expect(await storage.head(name)).toMatchObject({ bytes: 300, etag: read.etag });
    const listed = await Array.fromAsync(storage.list());
    expect(listed).toMatchObject([{ name, bytes: 300, etag: read.etag }]);
    await storage.delete(name);
    await storage.delete(name);
    expect(await storage.head(name)).toBeNull();
  });

  test('that are empty, or texts, are objects', async () => {
    await client().put('empty', Buffer.alloc(0));
    await client().put('none', inPieces(Buffer.alloc(0)));
    await client().put('text', 'grüße');
    expect(await client().head('empty')).toMatchObject({ bytes: 0 });
    expect(await client().head('none')).toMatchObject({ bytes: 0 });
    expect((await buffer((await client().get('text')).body)).toString()).toBe('grüße');
  });

  test('are read in part', async () => {
    const bytes = randomBytes(1_000);
    await client().put('part', bytes);
    const middle = await client().get('part', { range: { from: 100, to: 299 } });
    expect(middle.bytes).toBe(1_000);
    expect(await buffer(middle.body)).toEqual(bytes.subarray(100, 300));
    expect(await buffer((await client().get('part', { range: { from: 990 } })).body)).toEqual(
      bytes.subarray(990),
    );
    await expect(client().get('part', { range: { from: 1_000 } })).rejects.toMatchObject({
      code: 'InvalidRange',
    });
  });

  test('are listed page by page, in their order', async () => {
    store.shelf.mostListed = 2;
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
    store.shelf.mostListed = 1_000;
  });

  test('have no names that addresses would change', async () => {
    for (const name of ['../x', 'a/./b', '..', '', 'x'.repeat(1_100)])
      await expect(client().put(name, 'x')).rejects.toThrow(/name/);
    expect(store.asked).toEqual([]);
  });

  test('are written under the host of the bucket as well', async () => {
    const place = { ...storageLocation.read(store.placeText())!, style: 'virtual' as const };
    const endpoint = store.url.replace('127.0.0.1', 'objects.example');
    const here = { address: '127.0.0.1', prefix: 32, family: 'ipv4' } as const;
    const guard = new AddressGuard([here], () => Promise.resolve(['127.0.0.1']));
    const own = new OutgoingClient(new WireTransport(loadSettings({ NODE_ENV: 'test' }), guard));
    await new ObjectStorage(own, { ...place, endpoint }, store.key)
      .put('a b', 'x')
      .finally(() => own.close());
    expect(store.keys).toEqual(['a b']);
    expect(store.asked[0]!.headers.host).toMatch(/^records\.objects\.example:/);
    expect(store.asked[0]!.path).toBe('/a b');
  });
});

describe('conditional writing', () => {
  test('leaves what is there', async () => {
    expect(await client().put('once', 'first', { ifNew: true })).toBe('written');
    expect(await client().put('once', 'second', { ifNew: true })).toBe('taken');
    expect(store.bytesOf('kept/here/once')?.toString()).toBe('first');
  });

  test.each(['cut-after', 'error-after'] as const)(
    'knows its own object where an answer was lost (%s)',
    async (fault) => {
      store.fail(fault);
      expect(await client().put('once', 'first', { ifNew: true })).toBe('written');
      expect(times('PUT')).toBe(2);
      store.fail('cut-before');
      expect(await client().put('once', 'second', { ifNew: true })).toBe('taken');
    },
  );

  test.each(['cut-after', 'error-after', 'error-behind-200'] as const)(
    'does so for an object in parts (%s)',
    async (fault) => {
      const bytes = randomBytes(9 * KIB);
      store.fail(fault, 1, isFinish);
      const put = client().put('large', bytes, { partBytes: 4 * KIB, ifNew: true });
      expect(await put).toBe('written');
      expect(store.bytesOf('kept/here/large')).toEqual(bytes);
      expect(await client().put('large', bytes, { partBytes: 4 * KIB, ifNew: true })).toBe('taken');
      expect(store.shelf.uploads.size).toBe(0);
    },
  );
});

describe('streams', () => {
  test('larger than a part go in parts, whatever pieces they come in', async () => {
    const bytes = randomBytes(21 * KIB);
    for (const size of [100, 4 * KIB, 30 * KIB]) {
      await client().put('large', inPieces(bytes, size), { partBytes: 4 * KIB });
      expect(store.bytesOf('kept/here/large')).toEqual(bytes);
    }
    expect(store.shelf.objects.get('kept/here/large')!.etag).toMatch(/-6"$/);
    expect(await buffer((await client().get('large')).body)).toEqual(bytes);
  });

  test('of exactly one part go in one request', async () => {
    await client().put('one', inPieces(randomBytes(4 * KIB)), { partBytes: 4 * KIB });
    expect(store.asked.map(({ method }) => method)).toEqual(['PUT']);
  });

  test('that fail leave nothing behind', async () => {
    async function* failing(): AsyncGenerator<Buffer> {
      yield* inPieces(randomBytes(9 * KIB));
      throw new Error('the disk is gone');
    }
    await expect(client().put('large', failing(), { partBytes: 4 * KIB })).rejects.toThrow(
      'the disk is gone',
    );
    store.fail('internal-error', 4, ({ query }) => query.get('partNumber') === '2');
    const put = client().put('large', inPieces(randomBytes(9 * KIB)), { partBytes: 4 * KIB });
    await expect(put).rejects.toMatchObject({ code: 'InternalError', status: 500 });
    expect(store.keys).toEqual([]);
    expect(store.shelf.uploads.size).toBe(0);
  });

  test('are ended where nobody wants them any more', async () => {
    const ended = jest.fn();
    const leave = new AbortController();
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (let count = 0; ; count += 1) {
          if (count === 20) leave.abort(new Error('it is late'));
          yield await Promise.resolve(randomBytes(KIB));
        }
      } finally {
        ended();
      }
    }
    const put = client().put('large', endless(), { partBytes: 4 * KIB, signal: leave.signal });
    await expect(put).rejects.toThrow('it is late');
    expect(ended).toHaveBeenCalledTimes(1);
    expect(store.shelf.uploads.size).toBe(0);
  });

  test('with parts that are too small are refused by the store', async () => {
    await expect(client().put('large', randomBytes(9 * KIB), { partBytes: KIB })).rejects.toMatchObject({
      code: 'EntityTooSmall',
    });
    expect(store.shelf.uploads.size).toBe(0);
  });
});

describe('reading', () => {
  test('is taken up where the connection broke', async () => {
    const bytes = randomBytes(200 * KIB);
    await client().put('large', bytes);
    store.fail('cut-in-body', 2, ({ method }) => method === 'GET');
    expect(await buffer((await client().get('large')).body)).toEqual(bytes);
    expect(times('GET')).toBe(3);
  });

  test('never joins two objects', async () => {
    await client().put('large', randomBytes(200 * KIB));
    store.fail('cut-in-body', 1, ({ method }) => method === 'GET');
    const { body } = await client().get('large');
    await client().put('large', randomBytes(200 * KIB));
    await expect(buffer(body)).rejects.toMatchObject({ status: 412 });
  });

  test('tells bytes that are not those that were stored', async () => {
    await client().put('sound', randomBytes(100));
    store.fail('flipped-byte');
    const { body } = await client().get('sound');
    await expect(buffer(body)).rejects.toThrow('another checksum');
  });

  test('lets go of what nobody reads to its end', async () => {
    await client().put('large', randomBytes(2_000 * KIB));
    const { body } = await client().get('large');
    for await (const _piece of body) break;
    expect(body.destroyed).toBe(true);
    await client().head('large');
    expect(times('GET')).toBe(1);
  });
});

describe('failures', () => {
  test.each(['slow-down', 'internal-error', 'garbage', 'cut-before'] as const)(
    'that pass are outlasted: %s',
    async (fault) => {
      store.fail(fault, 3);
      await client().put('x', 'y');
      expect(times('PUT')).toBe(4);
      store.fail(fault, 4);
      await expect(client().put('x', 'z')).rejects.toThrow();
      expect(store.bytesOf('kept/here/x')?.toString()).toBe('y');
    },
  );

  test('pauses grow, and a part of them is chance', async () => {
    pauses.length = 0;
    store.fail('slow-down', 3);
    await client().put('x', 'y');
    expect(pauses).toHaveLength(3);
    expect(pauses.every((pause, index) => pause <= 200 * 2 ** (index + 1))).toBe(true);
  });

  test('a store that hangs is left at the deadline', async () => {
    store.fail('hang');
    const place = storageLocation.read(store.placeText())!;
    const short = new ObjectStorage(outgoing, place, store.key, { deadlineMs: 100, maxAttempts: 1 });
    await expect(short.put('x', 'y')).rejects.toThrow('100 ms');
  });

  test.each([
    ['an unknown key', { accessKeyId: 'AKIAUNKNOWN' }, 'InvalidAccessKeyId'],
    ['a wrong secret', { secretAccessKey: 'not-the-secret' }, 'SignatureDoesNotMatch'],
    ['a token that is not its own', { sessionToken: 'x'.repeat(20) }, 'InvalidToken'],
  ])('%s is told at once, without its text', async (_what, changes, code) => {
    const put = client(changes).put('x', 'y');
    await expect(put).rejects.toMatchObject({ code, isDenied: true, isPassing: false });
    await expect(put).rejects.not.toThrow(Object.values(changes)[0]);
    expect(store.asked).toHaveLength(1);
  });

  test('a wrong bucket, region or clock is told', async () => {
    const elsewhere = store.placeText().replace(store.bucket, 'elsewhere');
    await expect(client({}, elsewhere).put('x', 'y')).rejects.toMatchObject({
      code: 'NoSuchBucket',
      isDenied: true,
    });
    await expect(client({}, elsewhere).delete('x')).rejects.toMatchObject({ code: 'NoSuchBucket' });
    const region = store.placeText().replace(store.region, 'us-west-2');
    await expect(client({}, region).put('x', 'y')).rejects.toThrow(
      /AuthorizationHeaderMalformed.*eu-central-1/,
    );
    store.now = () => new Date(Date.now() + 20 * 60_000);
    await expect(client().put('x', 'y')).rejects.toMatchObject({ code: 'RequestTimeTooSkewed' });
    expect(store.keys).toEqual([]);
  });

  test('an object that is not there is told', async () => {
    await expect(client().get('missing')).rejects.toMatchObject({ status: 404, code: 'NoSuchKey' });
    expect(await client().head('missing')).toBeNull();
  });

  test('an upload that somebody removed is told, and no other object is taken for it', async () => {
    const put = client().put('large', watched(), { partBytes: 4 * KIB });
    await expect(put).rejects.toMatchObject({ code: 'NoSuchUpload' });
    expect(store.bytesOf('kept/here/large')?.toString()).toBe('another');

    async function* watched(): AsyncGenerator<Buffer> {
      yield* inPieces(randomBytes(9 * KIB));
      store.shelf.uploads.clear();
      await client().put('large', 'another');
    }
  });
});

test('places are read from one text', () => {
  const read = (text: string) => storageLocation.read(text);
  expect(read('s3://lake/a/b#region=eu-central-1')).toEqual({
    endpoint: 'https://s3.eu-central-1.amazonaws.com',
    region: 'eu-central-1',
    bucket: 'lake',
    prefix: 'a/b/',
    style: 'virtual',
    checksums: true,
  });
  expect(read('s3://my.lake#region=cn-north-1')).toMatchObject({
    endpoint: 'https://s3.cn-north-1.amazonaws.com.cn',
    prefix: '',
    style: 'path',
  });
  expect(read('s3://lake/#endpoint=https://minio.internal:9000&checksums=off')).toMatchObject({
    endpoint: 'https://minio.internal:9000',
    region: 'us-east-1',
    style: 'path',
    checksums: false,
  });
  for (const wrong of [
    's3://lake',
    's3://#region=x1',
    'https://lake.example/x#region=eu-central-1',
    's3://lake/../x#region=eu-central-1',
    's3://lake#region=eu-central-1&key=1',
    's3://lake#endpoint=ftp://a.example',
    's3://lake#endpoint=https://user:pass@a.example',
    's3://lake#region=eu-central-1&style=both',
  ])
    expect(read(wrong)).toBeUndefined();
});
