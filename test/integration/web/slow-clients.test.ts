import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Controller, Get, type INestApplication, Module, Post, Req } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '#inside/boot/packages';
import { fromUnknown, renderGateway } from '#product/kernel';
import { LeanAdapter, readBody } from '#product/platform';
import { exchange, open, parseAnswer, readToEnd } from './raw-exchange';

const BODY_DEADLINE_MS = 200;
const IDLE = 1_000;
const KEEP_ALIVE_MS = 3_000;

@Controller('/v1/slow')
class SlowController {
  @Get()
  answer(): object {
    return { ok: true };
  }

  @Post()
  async read(@Req() request: IncomingMessage): Promise<object> {
    return { bytes: (await readBody(request, 1_000_000, BODY_DEADLINE_MS)).length };
  }
}

const refusals = {
  catch(
    error: unknown,
    host: { getArgByIndex(index: number): { status(code: number): { json(body: object): void } } },
  ) {
    const { status, body } = renderGateway(fromUnknown(error), 'test');
    host.getArgByIndex(1).status(status).json(body);
  },
};

@Module({ controllers: [SlowController], providers: [{ provide: APP_FILTER, useValue: refusals }] })
class SlowModule {}

describe('Slow clients', () => {
  let application: INestApplication;
  let url: string;

  beforeAll(async () => {
    const adapter = new LeanAdapter(true, {
      headersTimeout: 1_000,
      keepAliveTimeout: 1_000,
      connectionsCheckingInterval: 50,
      stallTimeout: 2_000,
      lingerTimeout: 1_000,
    });
    application = await NestFactory.create(SlowModule, adapter, { logger: false });
    await application.listen(0, '127.0.0.1');
    url = await application.getUrl();
  });
  afterAll(() => application.close());

  const get = 'GET /v1/slow HTTP/1.1\r\nhost: x\r\n';

  /** Sends the text one character at a time; returns the number of characters sent before the server closed. */
  async function sendSlowly(socket: Socket, text: string): Promise<number> {
    let sentCount = 0;
    for (const character of text) {
      if (socket.destroyed || !socket.writable) return sentCount;
      socket.write(character);
      sentCount += 1;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return sentCount;
  }

  test('headers sent one character at a time time out', async () => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    void sendSlowly(socket, `${get}x-much: ${'x'.repeat(2_000)}`);
    const { status, body } = parseAnswer(await answer);
    expect([status, body]).toEqual([408, expect.stringContaining('"code":"request_timeout"')]);
  });

  test('a body sent slowly times out, however steadily it arrives', async () => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    socket.write('POST /v1/slow HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2000\r\n\r\n');
    const sending = sendSlowly(socket, 'x'.repeat(2_000));
    const { status, body } = parseAnswer(await answer);
    expect([status, body]).toEqual([408, expect.stringContaining('"code":"request_timeout"')]);
    expect(await sending).toBeLessThan(2_000);
  });

  test.each([
    ['served', 'GET /v1/slow HTTP/1.1', 200],
    ['not served', 'GET /v1/nothing HTTP/1.1', 404],
    ['that Express takes', 'HEAD /v1/slow HTTP/1.1', 200],
  ])('a body that no handler reads times out on a route %s', async (_, line, status) => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    socket.write(`${line}\r\nhost: x\r\ncontent-length: 2000\r\n\r\n`);
    void sendSlowly(socket, 'x'.repeat(2_000));
    expect(parseAnswer(await answer).status).toBe(status);
  });

  test('an unread body is not buffered beyond a small amount, however fast it arrives', async () => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    // Bytes are counted twenty times within the time limit; no machine sends a gigabyte between two counts.
    const pieces = 4_096;
    const piece = Buffer.alloc(256 * 1024, 'x');
    socket.write(`GET /v1/slow HTTP/1.1\r\nhost: x\r\ncontent-length: ${pieces * piece.length}\r\n\r\n`);
    let acceptedChunks = 0;
    while (acceptedChunks < pieces) {
      const failed = await new Promise((resolve) => socket.write(piece, resolve));
      if (failed) break;
      acceptedChunks += 1;
    }
    expect(acceptedChunks).toBeLessThan(pieces);
    expect(parseAnswer(await answer).status).toBe(200);
  });

  test('an unread body that arrives shortly after its response keeps the connection open', async () => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    socket.write(`GET /v1/slow HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n`);
    await once(socket, 'data');
    socket.write(`${'x'.repeat(10)}${get}connection: close\r\n\r\n`);
    expect((await answer).match(/\{"ok":true\}/g)).toHaveLength(2);
  });

  test(`${IDLE} idle sockets are closed while others are served`, async () => {
    const { hostname, port } = new URL(url);
    const sockets = Array.from({ length: IDLE }, () => connect(Number(port), hostname));
    const closed = sockets.map((socket) => {
      socket.on('error', () => undefined).resume();
      return once(socket, 'close', { signal: AbortSignal.timeout(30_000) });
    });
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    const answer = parseAnswer(await exchange(url, `${get}connection: close\r\n\r\n`));
    expect(answer.status).toBe(200);
    await Promise.all(closed);
  });

  test('an idle connection is closed after it was served', async () => {
    const socket = await open(url);
    socket.write(`${get}\r\n`);
    // The server closes its side; the client sends nothing more.
    expect(await readToEnd(socket)).toContain('{"ok":true}');
  });
});

describe('Keep-alive connections', () => {
  let application: INestApplication;
  let url: string;

  beforeAll(async () => {
    const adapter = new LeanAdapter(true, { keepAliveTimeout: KEEP_ALIVE_MS, stallTimeout: 100 });
    application = await NestFactory.create(SlowModule, adapter, { logger: false });
    await application.listen(0, '127.0.0.1');
    url = await application.getUrl();
  });
  afterAll(() => application.close());

  test('stay open for the announced time, regardless of the stall timeout, and are closed afterwards', async () => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    const request = 'GET /v1/slow HTTP/1.1\r\nhost: x\r\n\r\n';
    for (const pauseMs of [0, 500, 500]) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      socket.write(request);
    }
    const idleSince = performance.now();
    expect((await answer).match(/\{"ok":true\}/g)).toHaveLength(3);
    expect(performance.now() - idleSince).toBeGreaterThan(KEEP_ALIVE_MS - 100);
  });
});
