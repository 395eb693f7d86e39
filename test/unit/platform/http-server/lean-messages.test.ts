import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { addHeader, LeanRequest, LeanResponse } from '../../../../src/platform/http-server/lean-messages';

type LeanHandler = (request: LeanRequest, response: LeanResponse) => void;

let server: Server;
let nodeServer: Server;
let handler: LeanHandler;

beforeAll(async () => {
  const handle = (request: IncomingMessage, response: ServerResponse): void =>
    handler(request as LeanRequest, response as LeanResponse);
  server = createServer({ IncomingMessage: LeanRequest, ServerResponse: LeanResponse } as object, handle);
  nodeServer = createServer({ keepAliveTimeout: 7_900 }, handle);
  for (const httpServer of [server, nodeServer]) await once(httpServer.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => [server, nodeServer].forEach((one) => one.close()));

/** Sends the text and returns all response bytes once the connection is closed. */
async function exchange(text: string, to = server): Promise<string> {
  const { port } = to.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1', () => socket.write(text));
  socket.setEncoding('latin1');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

const chunkedHead = 'POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n';
const chunkedBody = '3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n';

describe('Request body', () => {
  async function handleBody(how: (request: LeanRequest) => Promise<string> | string, body = chunkedBody) {
    handler = (request, response) =>
      void Promise.resolve(how(request)).then((text) => response.setHeader('x-read', text).end());
    const answer = await exchange(chunkedHead + body);
    return /x-read: (.*)\r\n/i.exec(answer)?.[1];
  }

  const untilComplete = async (request: LeanRequest): Promise<void> => {
    while (!request.complete) await turn();
  };

  async function readStream(request: LeanRequest): Promise<string> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    return text;
  }

  test('is available synchronously once it is complete', async () => {
    const handled = await handleBody(async (request) => {
      await untilComplete(request);
      const bytes = request.arrivedBytes;
      return `${bytes} ${String(request.takeBody())} ${request.readableEnded}`;
    });
    expect(handled).toBe('7 abcdefg true');
  });

  test.each([
    ['before it has come', () => Promise.resolve()],
    ['when some has come', () => turn()],
    ['when all has come', untilComplete],
  ])('can be read as a stream %s', async (_when, wait) => {
    const text = await handleBody(async (request) => {
      await wait(request);
      const streamedText = await readStream(request);
      return `${streamedText} ${String(request.takeBody())}`;
    });
    expect(text).toBe('abcdefg null');
  });

  test('applies back-pressure until it is read', async () => {
    const piece = `400\r\n${'x'.repeat(1_024)}\r\n`;
    const text = await handleBody(
      async (request) => {
        for (let turnCount = 0; turnCount < 50; turnCount += 1) await turn();
        const { arrivedBytes, complete } = request;
        return `${arrivedBytes < 200_000} ${complete} ${(await readStream(request)).length}`;
      },
      `${piece.repeat(1_000)}0\r\n\r\n`,
    );
    expect(text).toBe(`true false ${1_024 * 1_000}`);
  });

  test('is discarded if unread, and the next request is answered', async () => {
    handler = (_request, response) => void response.end('no');
    const firstRequest = `${chunkedHead.replace('connection: close\r\n', '')}${chunkedBody}`;
    expect(await exchange(`${firstRequest}GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)).toMatch(
      /no[^]*200 OK[^]*no/,
    );
  });

  test('body that was taken does not affect the next request', async () => {
    const takenBodies: string[] = [];
    handler = (request, response) =>
      void untilComplete(request).then(() => {
        takenBodies.push(String(request.takeBody()));
        response.end('yes');
      });
    const firstRequest = `${chunkedHead.replace('connection: close\r\n', '')}${chunkedBody}`;
    await exchange(firstRequest + chunkedHead + chunkedBody);
    expect(takenBodies).toEqual(['abcdefg', 'abcdefg']);
  });
});

describe('Chunked response', () => {
  const requestText = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
  const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4);
  const anyChunk = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }).map((text) => text.toWellFormed()),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  );

  test("has the same bytes as Node's for any chunks", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyChunk, { maxLength: 6 }),
        anyChunk,
        fc.boolean(),
        async (parts, last, early) => {
          handler = (_request, response) => {
            response.setHeader('trailer', 'x-sum');
            if (early) response.flushHeaders();
            for (const part of parts) response.write(part);
            response.addTrailers({ 'x-sum': '7' });
            response.end(last);
          };
          const [ownResponse, nodeResponse] = await Promise.all([
            exchange(requestText),
            exchange(requestText, nodeServer),
          ]);
          expect(bodyOf(ownResponse)).toBe(bodyOf(nodeResponse));
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each([
    ['HTTP/1.0', 'GET / HTTP/1.0\r\nhost: x\r\n\r\n'],
    ['HEAD', 'HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'],
  ])('is not used for %s', async (_name, request) => {
    handler = (_request, response) => {
      response.flushHeaders();
      response.write('abc');
      response.end('d');
    };
    expect(bodyOf(await exchange(request))).toBe(bodyOf(await exchange(request, nodeServer)));
  });

  test('emits drain when a slow reader catches up, and nothing after its end', async () => {
    const drained = Promise.withResolvers<void>();
    let refusal: unknown;
    handler = (_request, response) => {
      response.flushHeaders();
      const piece = Buffer.alloc(64 * 1_024, 'x');
      let pieces = 0;
      const writeMore = (): void => {
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
      response.on('drain', writeMore);
      writeMore();
    };
    const answer = await exchange(requestText);
    await drained.promise;
    expect(bodyOf(answer)).toBe(`${`10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(200)}0\r\n\r\n`);
    expect(refusal).toMatchObject({ code: 'ERR_STREAM_WRITE_AFTER_END' });
  });

  test('stops without error when the client disconnects', async () => {
    const disconnected = Promise.withResolvers<boolean>();
    handler = (_request, response) => {
      response.flushHeaders();
      response.on('close', () => disconnected.resolve(response.write('late')));
    };
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1', () => socket.write(requestText));
    socket.once('data', () => socket.destroy());
    expect(await disconnected.promise).toBe(false);
  });
});

describe('Response head', () => {
  const headOf = (answer: string): string[] =>
    (answer.split('\r\n\r\n')[0] ?? '')
      .split('\r\n')
      .map((line, index) => (index === 0 ? line : line.toLowerCase()))
      .map((line) => line.replace(/^date: .*/, 'date: …'))
      .sort();

  const reply = (status: number, more?: (response: ServerResponse) => void): LeanHandler => {
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

  test.each<[string, string, LeanHandler]>([
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
  ])('equals that of Node: %s', async (_name, request, handle) => {
    handler = handle;
    const lastRequest = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
    const [ownResponse, nodeResponse] = await Promise.all([
      exchange(request + lastRequest),
      exchange(request + lastRequest, nodeServer),
    ]);
    expect(headOf(ownResponse)).toEqual(headOf(nodeResponse));
    expect(ownResponse.split('\r\n\r\n').length).toBe(nodeResponse.split('\r\n\r\n').length);
  });

  test.each(['a\r\nx-two: 2', 'a\nb', '\u0000', 'ł'])(
    'rejects a value that would inject another header: %j',
    (value) => {
      const response = new LeanResponse(new LeanRequest(null as never));
      expect(() => addHeader(response, 'x-one', value)).toThrow('x-one');
    },
  );
});
