import fc from 'fast-check';
import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { everyByte, Reader } from './read-answer';

interface ParserOutput {
  readonly bytes: Buffer;
  readonly endsByClosing: boolean;
  readonly told: { status: number; headers: Record<string, string>; body: string };
}

const line = fc.string({ unit: fc.constantFrom(...'abyzAZ09 \t;="/\xe4\xff'), maxLength: 30 });
const headerLines = fc.array(
  fc.tuple(
    fc.constantFrom('x-one', 'X-One', 'x-two', 'Via', 'x!#$%&*+.^_`|~'),
    line.map((text) => text.trim()),
    fc.constantFrom('', ' ', '\t '),
  ),
  { maxLength: 6 },
);
const bytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((array) => Buffer.from(array).toString('latin1'));
const chunk = fc.record({
  data: bytes(300).filter((data) => data.length > 0),
  zeros: fc.nat(3),
  isUpper: fc.boolean(),
  extension: fc.option(
    line.map((text) => `;${text}`),
    { nil: '' },
  ),
});
const body = fc.oneof(
  fc.record({ framing: fc.constant('length' as const), data: bytes(600) }),
  fc.record({
    framing: fc.constant('chunked' as const),
    chunks: fc.array(chunk, { maxLength: 6 }),
    trailers: fc.array(
      line.map((text) => `x-after: ${text}\r\n`),
      { maxLength: 3 },
    ),
  }),
  fc.record({ framing: fc.constant('close' as const), data: bytes(600) }),
  fc.record({ framing: fc.constant('none' as const), status: fc.constantFrom(204, 304) }),
);
const informationalResponses = fc.array(
  fc.constantFrom('100 Continue', '102 Processing\r\nx-one: early', '103 Early\r\ncontent-length: 9'),
  { maxLength: 3 },
);
const finalStatus = fc.constantFrom(200, 201, 299, 307, 404, 413, 500, 503, 999);

type FramedBody = typeof body extends fc.Arbitrary<infer T> ? T : never;

function frameBody(body: FramedBody): { header: [string, string][]; raw: string; data: string } {
  switch (body.framing) {
    case 'length':
      return { header: [['content-length', `${body.data.length}`]], raw: body.data, data: body.data };
    case 'chunked': {
      const raw = body.chunks.map(({ data, zeros, isUpper, extension }) => {
        const size = '0'.repeat(zeros) + data.length.toString(16);
        return `${isUpper ? size.toUpperCase() : size}${extension}\r\n${data}\r\n`;
      });
      return {
        header: [['transfer-encoding', 'chunked']],
        raw: `${raw.join('')}0\r\n${body.trailers.join('')}\r\n`,
        data: body.chunks.map(({ data }) => data).join(''),
      };
    }
    case 'close':
      return { header: [], raw: body.data, data: body.data };
    case 'none':
      // A 304 response can state the length that its body would have had.
      return { header: body.status === 304 ? [['content-length', '7']] : [], raw: '', data: '' };
  }
}

const answer: fc.Arbitrary<ParserOutput> = fc
  .record({ early: informationalResponses, status: finalStatus, lines: headerLines, body })
  .map(({ early, status: usualStatus, lines, body }) => {
    const { header, raw, data } = frameBody(body);
    const status = body.framing === 'none' ? body.status : usualStatus;
    const headers: Record<string, string> = Object.fromEntries(header);
    for (const [name, value] of lines) {
      const previous = headers[name.toLowerCase()];
      headers[name.toLowerCase()] = previous === undefined ? value : `${previous}, ${value}`;
    }
    const responseText = [
      ...early.map((text) => `HTTP/1.1 ${text}\r\n\r\n`),
      `HTTP/1.1 ${status} As it is\r\n`,
      ...header.map(([name, value]) => `${name}: ${value}\r\n`),
      ...lines.map(([name, value, space]) => `${name}:${space}${value}${space}\r\n`),
      `\r\n${raw}`,
    ].join('');
    return {
      bytes: Buffer.from(responseText, 'latin1'),
      endsByClosing: body.framing === 'close',
      told: { status, headers, body: data },
    };
  });

const cutPositions = fc.oneof(fc.constant('every' as const), fc.array(fc.nat(), { maxLength: 12 }));

/** Returns the ends of the pieces; the last byte arrives alone, so no response is complete before it. */
function endsOf(
  length: number,
  cuts: typeof cutPositions extends fc.Arbitrary<infer T> ? T : never,
): number[] {
  if (cuts === 'every') return everyByte(length);
  const ends = new Set([...cuts.map((cut) => cut % length), length - 1, length]);
  return [...ends].filter((end) => end > 0).sort((left, right) => left - right);
}

describe('Response in arbitrary pieces', () => {
  test('is parsed as sent and is complete with its last byte', () => {
    fc.assert(
      fc.property(answer, cutPositions, ({ bytes, endsByClosing, told }, cuts) => {
        const [singleReadReader, pieces] = [new Reader(), new Reader()];
        const [first, second] = [singleReadReader.expectResponse(), pieces.expectResponse()];
        expect(singleReadReader.read(bytes)).toBe(!endsByClosing);
        expect(pieces.readInPieces(bytes, endsOf(bytes.length, cuts))).toBe(!endsByClosing);
        for (const { parser } of [singleReadReader, pieces])
          if (endsByClosing) expect(parser.close()).toBe(true);
        expect(first.answer).toEqual(told);
        expect(second.answer).toEqual(told);
        expect([first.heads, second.heads]).toEqual([1, 1]);
        expect(pieces.parser.idleMs).toBe(singleReadReader.parser.idleMs);
        expect(pieces.parser.isReading).toBe(false);
      }),
      { numRuns: 400 },
    );
  });

  test('is followed by the next response on the same connection', () => {
    fc.assert(
      fc.property(answer, answer, cutPositions, (one, other, cuts) => {
        fc.pre(!one.endsByClosing);
        const reader = new Reader();
        for (const { bytes, endsByClosing, told } of [one, other]) {
          const recorder = reader.expectResponse();
          expect(reader.readInPieces(bytes, endsOf(bytes.length, cuts))).toBe(!endsByClosing);
          expect(recorder.answer).toEqual(told);
        }
      }),
      { numRuns: 200 },
    );
  });

  test.each(['content-length: 9', 'transfer-encoding: chunked'])(
    'is incomplete when the connection closes too early (%s)',
    (header) => {
      const reader = new Reader();
      reader.expectResponse();
      expect(reader.parser.close()).toBe(false);
      reader.expectResponse();
      reader.read(`HTTP/1.1 200 OK\r\n${header}`);
      expect(reader.parser.close()).toBe(false);
      reader.expectResponse();
      reader.read(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n5\r\nabcde`);
      expect(reader.parser.close()).toBe(false);
    },
  );
});

describe("Agreement with Node's client", () => {
  const plainResponse = 'content-length: 2\r\n\r\nok';

  /** Returns the response that Node's client parses from the bytes. */
  async function readByNode(bytes: string) {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(bytes, 'latin1'));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      request({ host: '127.0.0.1', port, agent: false, joinDuplicateHeaders: true }, (message) => {
        let body = '';
        message.setEncoding('latin1');
        message.on('data', (piece: string) => (body += piece)).on('error', reject);
        message.on('end', () =>
          resolve({ status: message.statusCode, headers: { ...message.headers }, body }),
        );
      })
        .on('error', reject)
        .end();
      return await promise;
    } finally {
      server.close();
    }
  }

  test.each([
    ['usual', `HTTP/1.1 200 OK\r\n${plainResponse}`],
    ['with an empty reason', `HTTP/1.1 200 \r\n${plainResponse}`],
    ['with a reason beyond ASCII', `HTTP/1.1 503 \xdcberlastet\r\n${plainResponse}`],
    ['of the older version', `HTTP/1.0 404 Not Found\r\n${plainResponse}`],
    ['with a status nobody knows', `HTTP/1.1 799 What\r\n${plainResponse}`],
    ['with no space behind a colon', `HTTP/1.1 200 OK\r\nx-a:b\r\n${plainResponse}`],
    ['with an empty header', `HTTP/1.1 200 OK\r\nx-a:\r\nx-b: \t \r\n${plainResponse}`],
    ['with blanks around a value', `HTTP/1.1 200 OK\r\nx-a: \t b\tc  d \t\r\n${plainResponse}`],
    ['with colons in a value', `HTTP/1.1 200 OK\r\nx-a: b:c: d:\r\n${plainResponse}`],
    ['with a value beyond ASCII', `HTTP/1.1 200 OK\r\nx-a: Gr\xfc\xdfe \x80\xff\r\n${plainResponse}`],
    ['with a value between wide blanks', `HTTP/1.1 200 OK\r\nx-a: \xa0b\xa0\r\n${plainResponse}`],
    ['with an odd name', `HTTP/1.1 200 OK\r\n!#$%&'*+-.^_\`|~09aZ: b\r\n${plainResponse}`],
    [
      'with a header three times',
      `HTTP/1.1 200 OK\r\nx-a: 1\r\nX-A: 2\r\nx-b: 0\r\nX-a: 3\r\n${plainResponse}`,
    ],
    ['with an empty header twice', `HTTP/1.1 200 OK\r\nx-a:\r\nx-a:\r\n${plainResponse}`],
    [
      'after others',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nx-a: b\r\n\r\nHTTP/1.1 200 OK\r\n${plainResponse}`,
    ],
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;a=b\r\nok\r\n00\r\nx-a: b\r\n\r\n'],
    ['until the connection closes', 'HTTP/1.1 200 OK\r\nx-a: b\r\n\r\nsome more'],
    ['of no bytes', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
    ['without content', 'HTTP/1.1 204 No Content\r\nx-a: b\r\n\r\n'],
    ['not modified', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 12\r\n\r\n'],
  ])('parser and Node agree on a response %s', async (_, bytes) => {
    const reader = new Reader();
    const recorder = reader.expectResponse();
    if (!reader.read(bytes)) expect(reader.parser.close()).toBe(true);
    expect(recorder.answer).toEqual(await readByNode(bytes));
  });
});

describe('Keep-alive time', () => {
  const sizedResponse = 'content-length: 2\r\n\r\nok';

  test.each([
    ['nothing said', `HTTP/1.1 200 OK\r\n${sizedResponse}`, 30_000],
    ['closed', `HTTP/1.1 200 OK\r\nConnection: Close\r\n${sizedResponse}`, 0],
    ['closed among other words', `HTTP/1.1 200 OK\r\nconnection: x-a, close\r\n${sizedResponse}`, 0],
    [
      'closed in a second header',
      `HTTP/1.1 200 OK\r\nconnection: x-a\r\nConnection: close\r\n${sizedResponse}`,
      0,
    ],
    ['a word that contains another', `HTTP/1.1 200 OK\r\nconnection: disclose\r\n${sizedResponse}`, 30_000],
    ['kept by part of a word', `HTTP/1.0 200 OK\r\nconnection: no-keep-alive\r\n${sizedResponse}`, 0],
    ['kept and closed at once', `HTTP/1.0 200 OK\r\nconnection: keep-alive, close\r\n${sizedResponse}`, 0],
    [
      'chunks that the older version does not know',
      'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      0,
    ],
    [
      'closed although there is a time',
      `HTTP/1.1 200 OK\r\nconnection: close\r\nkeep-alive: timeout=9\r\n${sizedResponse}`,
      0,
    ],
    ['the older version', `HTTP/1.0 200 OK\r\n${sizedResponse}`, 0],
    ['the older version, kept', `HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n${sizedResponse}`, 30_000],
    ['five seconds', `HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=9\r\n${sizedResponse}`, 3_000],
    ['one second', `HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\n${sizedResponse}`, 0],
    ['no time', `HTTP/1.1 200 OK\r\nkeep-alive: timeout=0\r\n${sizedResponse}`, 0],
    ['ten minutes', `HTTP/1.1 200 OK\r\nkeep-alive: timeout=600\r\n${sizedResponse}`, 60_000],
    ['until it closes', 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=9\r\n\r\nok', 0],
    ['something behind', `HTTP/1.1 200 OK\r\n${sizedResponse}!`, 0],
    ['something behind its chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n!', 0],
    ['something behind nothing', 'HTTP/1.1 204 No Content\r\n\r\n!', 0],
    ['without content', 'HTTP/1.1 204 No Content\r\n\r\n', 30_000],
    ['in chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n', 30_000],
  ])('is read from the response: %s', (_, bytes, idleMs) => {
    const reader = new Reader();
    const recorder = reader.expectResponse();
    if (!reader.read(bytes)) reader.parser.close();
    expect(recorder.heads).toBe(1);
    expect(reader.parser.idleMs).toBe(idleMs);
  });
});
