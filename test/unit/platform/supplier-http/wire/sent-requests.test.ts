import { requestHead } from '../../../../../src/platform/supplier-http/wire';
import type { SupplierRequest } from '../../../../../src/platform/supplier-http';
import { answer, call, closeEverything, get, ok, openPools } from './raw-supplier';

afterEach(closeEverything);

const linesOf = (head: string): string[] => head.split('\r\n').slice(1);
const lengthsIn = (head: string): string[] =>
  linesOf(head).filter((line) => /^content-length\s*:/i.test(line));

/** Every value of a byte, and line ends among them. */
const bytesOf = (length: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, at) => (at % 257 === 256 ? 10 : (at * 7 + (at >> 8)) % 256)));

describe('a body arrives byte for byte', () => {
  test.each([0, 1, 3, 256, 4_095, 4_096, 4_097, 1024 * 1024])('of %d bytes', async (length) => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('ok')));
    const pools = openPools();
    const body = bytesOf(length);
    // The second goes over a connection that was used before.
    for (let n = 0; n < 2; n++) {
      await call(pools, get(port, { method: 'POST', body, headers: { 'content-length': '1' } })).outcome;
      expect(asked[n]!.body.equals(body)).toBe(true);
      expect(lengthsIn(asked[n]!.head)).toEqual([`content-length: ${length}`]);
    }
    expect(asked.map(({ connection }) => connection)).toEqual([1, 1]);
  });

  test.each([
    ['short', 'Grüße an die Fähre: 你好 🚢\r\n\u0000'],
    ['long', 'Grüße an die Fähre: 你好 🚢\r\n'.repeat(500)],
    ['as large as a short one can be', 'ä'.repeat(2_048)],
    ['one byte larger', `${'ä'.repeat(2_048)}.`],
  ])('of text beyond ASCII (%s)', async (_, body) => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('ok')));
    await call(openPools(), get(port, { method: 'POST', body })).outcome;
    expect(asked[0]!.body.toString()).toBe(body);
    expect(lengthsIn(asked[0]!.head)).toEqual([`content-length: ${Buffer.byteLength(body)}`]);
  });

  test.each(['GET', 'DELETE'] as const)(
    'and there is no length where there is no body (%s)',
    async (method) => {
      const { port, asked } = await answer(({ socket }) => socket.write(ok('ok')));
      await call(openPools(), get(port, { method })).outcome;
      expect(lengthsIn(asked[0]!.head)).toEqual([]);
      expect(asked[0]!.body).toHaveLength(0);
    },
  );

  test('of many calls at once', async () => {
    const { port } = await answer(({ socket, body }) => socket.write(ok(`${body.at(0)} ${body.length}`)));
    const pools = openPools({ supplierConnections: 4 });
    const calls = Array.from({ length: 8 }, (_, n) =>
      call(pools, get(port, { method: 'POST', body: Buffer.alloc(n * 2_000 + 1, n) })),
    );
    for (const [n, { outcome }] of calls.entries())
      expect(await outcome).toMatchObject({ text: `${n} ${n * 2_000 + 1}` });
  });
});

describe('a head', () => {
  test('has its host, its path and its headers as they are', async () => {
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

  // A reader of a request must not find two answers to where it ends and whom it is for.
  test.each([
    ['Content-Length', '1'],
    ['CONTENT-LENGTH', '1'],
    ['Host', 'elsewhere.example'],
    ['host', 'elsewhere.example'],
    ['Connection', 'close'],
    ['Accept-Encoding', 'gzip, br'],
    ['transfer-encoding', 'chunked'],
    ['Transfer-Encoding', 'chunked'],
  ])('says once where the request ends and whom it is for, whatever the caller says (%s)', (name, value) => {
    const line = { method: 'POST', path: '/', host: 'models.example' } as const;
    const head = requestHead(line, { [name]: value }, 3);
    expect(linesOf(head).filter(Boolean)).toEqual([
      'host: models.example',
      'connection: keep-alive',
      'accept-encoding: identity',
      'content-length: 3',
    ]);
  });
});

describe('what could be read as more than one request is not sent', () => {
  const refused: [string, Record<string, string>][] = [
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

  test.each(refused)('%s', async (_, headers) => {
    const { port, asked, sockets } = await answer(({ socket }) => socket.write(ok('ok')));
    const pools = openPools({ supplierConnections: 1 });
    const request: SupplierRequest = get(port, { method: 'POST', body: 'abc', headers });
    // More often than calls may wait: what is refused takes nobody's place.
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

  test.each(['/a b', '/a\r\nx-a: b', '/a\tb', '/\x7f', '/ä', '', '/\u0120'])('a path like %j', (path) => {
    expect(() => requestHead({ method: 'GET', path, host: 'models.example' }, {}, 0)).toThrow(
      expect.objectContaining({ code: 'configuration_error' }) as Error,
    );
  });
});
