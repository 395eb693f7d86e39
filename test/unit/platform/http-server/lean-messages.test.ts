import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { addHeader, LeanRequest, LeanResponse } from '../../../../src/platform/http-server/lean-messages';

type Handler = (request: LeanRequest, response: LeanResponse) => void;

let server: Server;
let plain: Server;
let handler: Handler;

beforeAll(async () => {
  const handle = (request: IncomingMessage, response: ServerResponse): void =>
    handler(request as LeanRequest, response as LeanResponse);
  server = createServer({ IncomingMessage: LeanRequest, ServerResponse: LeanResponse } as object, handle);
  plain = createServer({ keepAliveTimeout: 7_900 }, handle);
  for (const one of [server, plain]) await once(one.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => [server, plain].forEach((one) => one.close()));

/** These bytes come back for some bytes, once the connection is closed. */
async function exchange(text: string, to = server): Promise<string> {
  const { port } = to.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1', () => socket.write(text));
  socket.setEncoding('latin1');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

const chunked = 'POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n';
const pieces = '3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n';

describe('a body', () => {
  async function read(how: (request: LeanRequest) => Promise<string> | string, body = pieces) {
    handler = (request, response) =>
      void Promise.resolve(how(request)).then((text) => response.setHeader('x-read', text).end());
    const answer = await exchange(chunked + body);
    return /x-read: (.*)\r\n/i.exec(answer)?.[1];
  }

  const arrived = async (request: LeanRequest): Promise<void> => {
    while (!request.complete) await turn();
  };

  async function streamed(request: LeanRequest): Promise<string> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    return text;
  }

  test('is taken once all of it has come', async () => {
    const taken = await read(async (request) => {
      await arrived(request);
      const bytes = request.arrivedBytes;
      return `${bytes} ${String(request.takeBody())} ${request.readableEnded}`;
    });
    expect(taken).toBe('7 abcdefg true');
  });

  test.each([
    ['before it has come', () => Promise.resolve()],
    ['when some has come', () => turn()],
    ['when all has come', arrived],
  ])('is a stream for whoever reads one %s', async (_when, wait) => {
    const text = await read(async (request) => {
      await wait(request);
      const read = await streamed(request);
      return `${read} ${String(request.takeBody())}`;
    });
    expect(text).toBe('abcdefg null');
  });

  test('of many pieces is held up until somebody reads it', async () => {
    const piece = `400\r\n${'x'.repeat(1_024)}\r\n`;
    const text = await read(
      async (request) => {
        for (let turns = 0; turns < 50; turns += 1) await turn();
        const { arrivedBytes, complete } = request;
        return `${arrivedBytes < 200_000} ${complete} ${(await streamed(request)).length}`;
      },
      `${piece.repeat(1_000)}0\r\n\r\n`,
    );
    expect(text).toBe(`true false ${1_024 * 1_000}`);
  });

  test('that nobody reads is passed over, and the next request is answered', async () => {
    handler = (_request, response) => void response.end('no');
    const first = `${chunked.replace('connection: close\r\n', '')}${pieces}`;
    expect(await exchange(`${first}GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)).toMatch(
      /no[^]*200 OK[^]*no/,
    );
  });

  test('that was taken leaves room for the next request', async () => {
    const taken: string[] = [];
    handler = (request, response) =>
      void arrived(request).then(() => {
        taken.push(String(request.takeBody()));
        response.end('yes');
      });
    const first = `${chunked.replace('connection: close\r\n', '')}${pieces}`;
    await exchange(first + chunked + pieces);
    expect(taken).toEqual(['abcdefg', 'abcdefg']);
  });
});

describe('a chunked answer', () => {
  const ask = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
  const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4);
  const some = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }).map((text) => text.toWellFormed()),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  );

  test('has the bytes that Node would write, whatever its pieces', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(some, { maxLength: 6 }), some, fc.boolean(), async (parts, last, early) => {
        handler = (_request, response) => {
          response.setHeader('trailer', 'x-sum');
          if (early) response.flushHeaders();
          for (const part of parts) response.write(part);
          response.addTrailers({ 'x-sum': '7' });
          response.end(last);
        };
        const [ours, nodes] = await Promise.all([exchange(ask), exchange(ask, plain)]);
        expect(bodyOf(ours)).toBe(bodyOf(nodes));
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ['HTTP/1.0', 'GET / HTTP/1.0\r\nhost: x\r\n\r\n'],
    ['HEAD', 'HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'],
  ])('is none for %s', async (_name, request) => {
    handler = (_request, response) => {
      response.flushHeaders();
      response.write('abc');
      response.end('d');
    };
    expect(bodyOf(await exchange(request))).toBe(bodyOf(await exchange(request, plain)));
  });

  test('tells when a slow reader has made room, and nothing after its end', async () => {
    const drained = Promise.withResolvers<void>();
    let refusal: unknown;
    handler = (_request, response) => {
      response.flushHeaders();
      const piece = Buffer.alloc(64 * 1_024, 'x');
      let pieces = 0;
      const more = (): void => {
        while (pieces < 200) {
          pieces += 1;
          const fits = response.write(piece);
          expect(response.writableNeedDrain).toBe(!fits);
          if (!fits) return;
        }
        response.end(() => drained.resolve());
        response.on('error', (error) => (refusal = error));
        response.write('late');
      };
      response.on('drain', more);
      more();
    };
    const answer = await exchange(ask);
    await drained.promise;
    expect(bodyOf(answer)).toBe(`${`10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(200)}0\r\n\r\n`);
    expect(refusal).toMatchObject({ code: 'ERR_STREAM_WRITE_AFTER_END' });
  });

  test('stops without harm where the caller has left', async () => {
    const left = Promise.withResolvers<boolean>();
    handler = (_request, response) => {
      response.flushHeaders();
      response.on('close', () => left.resolve(response.write('late')));
    };
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1', () => socket.write(ask));
    socket.once('data', () => socket.destroy());
    expect(await left.promise).toBe(false);
  });
});

describe('a head', () => {
  const headOf = (answer: string): string[] =>
    (answer.split('\r\n\r\n')[0] ?? '')
      .split('\r\n')
      .map((line, index) => (index === 0 ? line : line.toLowerCase()))
      .map((line) => line.replace(/^date: .*/, 'date: …'))
      .sort();

  const reply = (status: number, more?: (response: ServerResponse) => void): Handler => {
    return (_request, response) => {
      if (response instanceof LeanResponse) response.setKeepAliveTime(7_900);
      addHeader(response, 'x-one', '1');
      addHeader(response, 'content-type', 'text/plain');
      addHeader(response, 'content-length', '2');
      more?.(response);
      response.writeHead(status);
      response.end(status === 204 ? undefined : 'ok');
    };
  };

  test.each<[string, string, Handler]>([
    ['on a connection that stays', 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', reply(200)],
    ['on one that is closed', 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', reply(404)],
    ['for an older caller', 'GET / HTTP/1.0\r\n\r\n', reply(200)],
    ['for one that would stay', 'GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n', reply(200)],
    ['with no body', 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', reply(204)],
    [
      'with a header that was set',
      'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
      reply(200, (response) => response.setHeader('X-One', 'set')),
    ],
    ['with a status nobody knows', 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', reply(299)],
    [
      'of a service that stops',
      'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
      reply(200, (response) => (response.shouldKeepAlive = false)),
    ],
  ])('is the one that Node would write: %s', async (_name, request, handle) => {
    handler = handle;
    const last = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
    const [ours, theirs] = await Promise.all([exchange(request + last), exchange(request + last, plain)]);
    expect(headOf(ours)).toEqual(headOf(theirs));
    expect(ours.split('\r\n\r\n').length).toBe(theirs.split('\r\n\r\n').length);
  });

  test.each(['a\r\nx-two: 2', 'a\nb', '\u0000', 'ł'])('takes no value that would be more: %j', (value) => {
    const response = new LeanResponse(new LeanRequest(null as never));
    expect(() => addHeader(response, 'x-one', value)).toThrow('x-one');
  });
});
