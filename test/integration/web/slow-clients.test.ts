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

describe('clients who take their time', () => {
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

  /** Returns how many letters were sent before the server hung up. */
  async function drip(socket: Socket, text: string): Promise<number> {
    let sent = 0;
    for (const letter of text) {
      if (socket.destroyed || !socket.writable) return sent;
      socket.write(letter);
      sent += 1;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return sent;
  }

  test('headers that come letter by letter are not waited for', async () => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    void drip(socket, `${get}x-much: ${'x'.repeat(2_000)}`);
    const { status, body } = parseAnswer(await answer);
    expect([status, body]).toEqual([408, expect.stringContaining('"code":"request_timeout"')]);
  });

  test('nor is a body, however steadily it drips', async () => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    socket.write('POST /v1/slow HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2000\r\n\r\n');
    const dripped = drip(socket, 'x'.repeat(2_000));
    const { status, body } = parseAnswer(await answer);
    expect([status, body]).toEqual([408, expect.stringContaining('"code":"request_timeout"')]);
    expect(await dripped).toBeLessThan(2_000);
  });

  test.each([
    ['served', 'GET /v1/slow HTTP/1.1', 200],
    ['not served', 'GET /v1/nothing HTTP/1.1', 404],
    ['that Express takes', 'HEAD /v1/slow HTTP/1.1', 200],
  ])('nor is one that no handler reads, of a route %s', async (_, line, status) => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    socket.write(`${line}\r\nhost: x\r\ncontent-length: 2000\r\n\r\n`);
    void drip(socket, 'x'.repeat(2_000));
    expect(parseAnswer(await answer).status).toBe(status);
  });

  test('nor is more of such a body taken in than a little, however quickly it comes', async () => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    // Bytes are counted twenty times within the time limit: no machine sends a gigabyte between two looks.
    const pieces = 4_096;
    const piece = Buffer.alloc(256 * 1024, 'x');
    socket.write(`GET /v1/slow HTTP/1.1\r\nhost: x\r\ncontent-length: ${pieces * piece.length}\r\n\r\n`);
    let taken = 0;
    while (taken < pieces) {
      const failed = await new Promise((resolve) => socket.write(piece, resolve));
      if (failed) break;
      taken += 1;
    }
    expect(taken).toBeLessThan(pieces);
    expect(parseAnswer(await answer).status).toBe(200);
  });

  test('one that comes a little later than its answer keeps the connection', async () => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    socket.write(`GET /v1/slow HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n`);
    await once(socket, 'data');
    socket.write(`${'x'.repeat(10)}${get}connection: close\r\n\r\n`);
    expect((await answer).match(/\{"ok":true\}/g)).toHaveLength(2);
  });

  test(`${IDLE} sockets that say nothing are let go, and others are served beside them`, async () => {
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

  test('a connection that has been served and says no more is let go', async () => {
    const socket = await open(url);
    socket.write(`${get}\r\n`);
    // The end of what can be read is the server's: this side says no more.
    expect(await readToEnd(socket)).toContain('{"ok":true}');
  });
});

describe('clients who rest between requests', () => {
  let application: INestApplication;
  let url: string;

  beforeAll(async () => {
    const adapter = new LeanAdapter(true, { keepAliveTimeout: KEEP_ALIVE_MS, stallTimeout: 100 });
    application = await NestFactory.create(SlowModule, adapter, { logger: false });
    await application.listen(0, '127.0.0.1');
    url = await application.getUrl();
  });
  afterAll(() => application.close());

  test('are served as long as they were told, however short an answer may wait, and let go after it', async () => {
    const socket = await open(url);
    const answer = readToEnd(socket);
    const request = 'GET /v1/slow HTTP/1.1\r\nhost: x\r\n\r\n';
    for (const restMs of [0, 500, 500]) {
      await new Promise((resolve) => setTimeout(resolve, restMs));
      socket.write(request);
    }
    const restsFrom = performance.now();
    expect((await answer).match(/\{"ok":true\}/g)).toHaveLength(3);
    expect(performance.now() - restsFrom).toBeGreaterThan(KEEP_ALIVE_MS - 100);
  });
});
