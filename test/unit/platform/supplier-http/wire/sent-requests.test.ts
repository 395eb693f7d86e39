import { requestHead } from '../../../../../src/platform/supplier-http/wire';
import type { SupplierRequest } from '../../../../../src/platform/supplier-http';
import { answer, call, closeEverything, get, ok, openPools } from './raw-supplier';

afterEach(closeEverything);

const headerLinesOf = (head: string): string[] => head.split('\r\n').slice(1);
const contentLengthsIn = (head: string): string[] =>
  headerLinesOf(head).filter((line) => /^content-length\s*:/i.test(line));

/** Returns bytes of every value, including line endings. */
const bytesOf = (length: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, at) => (at % 257 === 256 ? 10 : (at * 7 + (at >> 8)) % 256)));

describe('Sent body', () => {
  test.each([0, 1, 3, 256, 4_095, 4_096, 4_097, 1024 * 1024])(
    'body of %d bytes arrives byte for byte',
    async (length) => {
      const { port, asked } = await answer(({ socket }) => socket.write(ok('ok')));
      const pools = openPools();
      const body = bytesOf(length);
      // The second request reuses the connection.
      for (let n = 0; n < 2; n++) {
        await call(pools, get(port, { method: 'POST', body, headers: { 'content-length': '1' } })).outcome;
        expect(asked[n]!.body.equals(body)).toBe(true);
        expect(contentLengthsIn(asked[n]!.head)).toEqual([`content-length: ${length}`]);
      }
      expect(asked.map(({ connection }) => connection)).toEqual([1, 1]);
    },
  );

  test.each([
    ['short', 'Grüße an die Fähre: 你好 🚢\r\n\u0000'],
    ['long', 'Grüße an die Fähre: 你好 🚢\r\n'.repeat(500)],
    ['as large as a short one can be', 'ä'.repeat(2_048)],
    ['one byte larger', `${'ä'.repeat(2_048)}.`],
  ])('body of non-ASCII text arrives byte for byte (%s)', async (_, body) => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('ok')));
    await call(openPools(), get(port, { method: 'POST', body })).outcome;
    expect(asked[0]!.body.toString()).toBe(body);
    expect(contentLengthsIn(asked[0]!.head)).toEqual([`content-length: ${Buffer.byteLength(body)}`]);
  });

  test.each(['GET', 'DELETE'] as const)(
    'request without a body has no content-length (%s)',
    async (method) => {
      const { port, asked } = await answer(({ socket }) => socket.write(ok('ok')));
      await call(openPools(), get(port, { method })).outcome;
      expect(contentLengthsIn(asked[0]!.head)).toEqual([]);
      expect(asked[0]!.body).toHaveLength(0);
    },
  );

  test('arrives byte for byte for many concurrent calls', async () => {
    const { port } = await answer(({ socket, body }) => socket.write(ok(`${body.at(0)} ${body.length}`)));
    const pools = openPools({ supplierConnections: 4 });
    const calls = Array.from({ length: 8 }, (_, n) =>
      call(pools, get(port, { method: 'POST', body: Buffer.alloc(n * 2_000 + 1, n) })),
    );
    for (const [n, { outcome }] of calls.entries())
      expect(await outcome).toMatchObject({ text: `${n} ${n * 2_000 + 1}` });
  });
});

describe('Request head', () => {
  test('contains host, path and headers unchanged', async () => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('ok')));
    const { origin, host } = get(port).url;
    const url = new URL(`${origin.replace('//', '//user:secret@')}/v1/a%20b/%C3%A4?q=1&r=a b#part`);
    const headers = { authorization: 'Bearer x', 'X-Odd!': ' \ta:b\xe4\xff', empty: '' };
    await call(openPools(), { url, method: 'GET', headers }).outcome;
    expect(asked[0]!.head.split('\r\n')).toEqual([
      'GET /v1/a%20b/%C3%A4?q=1&r=a%20b HTTP/1.1',
      `host: ${host}`,
      'connection: keep-alive',
      'accept-encoding: identity',
      'authorization: Bearer x',
      'X-Odd!:  \ta:b\xe4\xff',
      'empty: ',
    ]);
  });

  // A reader of the request must find a single statement of its length and host.
  test.each([
    ['Content-Length', '1'],
    ['CONTENT-LENGTH', '1'],
    ['Host', 'elsewhere.example'],
    ['host', 'elsewhere.example'],
    ['Connection', 'close'],
    ['Accept-Encoding', 'gzip, br'],
    ['transfer-encoding', 'chunked'],
    ['Transfer-Encoding', 'chunked'],
  ])("states length and host once regardless of the caller's headers (%s)", (name, value) => {
    const line = { method: 'POST', path: '/', host: 'models.example' } as const;
    const head = requestHead(line, { [name]: value }, 3);
    expect(headerLinesOf(head).filter(Boolean)).toEqual([
      'host: models.example',
      'connection: keep-alive',
      'accept-encoding: identity',
      'content-length: 3',
    ]);
  });
});

describe('Ambiguous request', () => {
  const ambiguousRequests: [string, Record<string, string>][] = [
    ['a line end in a value', { 'x-a': 'a\r\nx-b: b' }],
    ['a line feed in a value', { 'x-a': 'a\nx-b: b' }],
    ['a carriage return in a value', { 'x-a': 'a\rx-b: b' }],
    ['a line end behind a value', { 'x-a': 'a\r\n' }],
    ['a zero byte in a value', { 'x-a': 'a\0' }],
    ['a control character in a value', { 'x-a': 'a\x7f' }],
    ['a character that latin1 makes a line end', { 'x-a': 'a\u010d\u010ax-b: b' }],
    ['a character beyond a byte', { 'x-a': '€' }],
    ['a line end in a name', { 'x-a\r\nx-b': 'b' }],
    ['a colon in a name', { 'x-a: a': 'b' }],
    ['a space in a name', { 'x a': 'b' }],
    ['a name of nothing', { '': 'b' }],
    ['a name beyond ASCII', { 'x-ä': 'b' }],
    ["a line end in a length of one's own", { 'content-length': '1\r\nx-a: b' }],
  ];

  test.each(ambiguousRequests)('is not sent: %s', async (_, headers) => {
    const { port, asked, sockets } = await answer(({ socket }) => socket.write(ok('ok')));
    const pools = openPools({ supplierConnections: 1 });
    const request: SupplierRequest = get(port, { method: 'POST', body: 'abc', headers });
    // Sends more requests than the queue allows: rejected requests take no slot.
    const onBroken = jest.fn();
    for (let n = 0; n < 5; n++)
      expect(() => pools.dispatch(request, { onBroken })).toThrow(
        expect.objectContaining({ code: 'configuration_error' }) as Error,
      );
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'ok' });
    expect(asked.map(({ body }) => body.length)).toEqual([0]);
    expect(sockets.length).toBe(1);
    expect(onBroken).not.toHaveBeenCalled();
  });

  test.each(['/a b', '/a\r\nx-a: b', '/a\tb', '/\x7f', '/ä', '', '/\u0120'])(
    'is not sent with the path %j',
    (path) => {
      expect(() => requestHead({ method: 'GET', path, host: 'models.example' }, {}, 0)).toThrow(
        expect.objectContaining({ code: 'configuration_error' }) as Error,
      );
    },
  );
});
