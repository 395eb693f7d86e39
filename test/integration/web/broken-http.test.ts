import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '#inside/boot/packages';
import type { INestApplication } from '@nestjs/common';
import { LeanAdapter } from '#product/platform';
import { exchange, open, parseAnswer, readToEnd } from './raw-exchange';

@Controller('/v1/plain')
class PlainController {
  static served = 0;

  @Get()
  answer(): object {
    PlainController.served += 1;
    return { ok: true };
  }

  @Get('slow')
  async slow(): Promise<object> {
    await new Promise((resolve) => setTimeout(resolve, 150));
    return { slow: true };
  }
}

@Module({ controllers: [PlainController] })
class PlainModule {}

describe.each([true, false])('Malformed HTTP, with lean %s', (lean) => {
  let application: INestApplication;
  let url: string;

  beforeAll(async () => {
    const adapter = new LeanAdapter(lean, {
      headersTimeout: 1_000,
      keepAliveTimeout: 1_000,
      connectionsCheckingInterval: 50,
    });
    application = await NestFactory.create(PlainModule, adapter, { logger: false });
    await application.listen(0, '127.0.0.1');
    url = (await application.getUrl()).replace('[::1]', '127.0.0.1');
  });
  beforeEach(() => (PlainController.served = 0));
  afterAll(() => application.close());

  const get = 'GET /v1/plain HTTP/1.1\r\nhost: x\r\n';
  const post = 'POST /v1/plain HTTP/1.1\r\nhost: x\r\n';

  test.each(['HTTP/2.0', 'HTTP/0.9', 'HTTP/3.0', 'HTTP/9.9'])('refuses %s', async (version) => {
    const answer = parseAnswer(await exchange(url, `GET /v1/plain ${version}\r\nhost: x\r\n\r\n`));
    expect([400, 505]).toContain(answer.status);
    if (version === 'HTTP/2.0') expect(answer.status).toBe(505);
    expect(PlainController.served).toBe(0);
  });

  test.each([
    ['both lengths', `${post}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    [
      'both lengths, the other way round',
      `${post}transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n`,
    ],
    ['two lengths', `${post}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
    ['the same length twice', `${post}content-length: 1\r\ncontent-length: 1\r\n\r\na`],
    ['a length with a sign', `${post}content-length: +1\r\n\r\na`],
    ['a negative length', `${post}content-length: -1\r\n\r\n`],
    ['a length beyond counting', `${post}content-length: 99999999999999999999999\r\n\r\n`],
    ['chunked not at the end', `${post}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a folded header', `${get}x-folded: a\r\n b\r\n\r\n`],
    ['a space before the colon', `${get}content-length : 1\r\n\r\n`],
    ['bare line feeds', 'GET /v1/plain HTTP/1.1\nhost: x\n\n'],
    ['a bare carriage return in a header', `${get}x-a: b\rc\r\n\r\n`],
    ['a NUL in a header', `${get}x-a: b\0c\r\n\r\n`],
    ['a space in the path', 'GET /v1/plain /x HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['an unknown method', 'FETCH /v1/plain HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['an unknown version', 'GET /v1/plain HTTP/3.7\r\nhost: x\r\n\r\n'],
    ['garbage', '\x16\x03\x01\x02\x00 garbage\r\n\r\n'],
  ])('refuses %s with 400, closes the connection and calls no handler', async (_name, bytes) => {
    const text = await exchange(url, bytes + get + '\r\n');
    const answer = parseAnswer(text);
    const { error } = JSON.parse(answer.body) as { error: { code: string; request_id: string } };
    expect([answer.status, error.code]).toEqual([400, 'invalid_request']);
    expect(answer.headers).toMatchObject({ connection: 'close', 'x-request-id': error.request_id });
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(PlainController.served).toBe(0);
  });

  test('"a limit on the path length before routing": answers 414 to a path of more than 2,048 characters', async () => {
    const answer = parseAnswer(await exchange(url, `GET ${'/'.repeat(2_049)} HTTP/1.1\r\nhost: x\r\n\r\n`));
    expect([answer.status, answer.headers.connection]).toEqual([414, 'close']);
    expect(JSON.parse(answer.body)).toMatchObject({
      error: { code: 'request_too_large', request_id: answer.headers['x-request-id'] },
    });
  });

  test('accepts a path of 2,048 characters and any query length that fits the head', async () => {
    const finalHeaders = 'host: x\r\nconnection: close\r\n\r\n';
    const path = parseAnswer(await exchange(url, `GET /${'a'.repeat(2_047)} HTTP/1.1\r\n${finalHeaders}`));
    expect(path.status).toBe(404);
    const query = parseAnswer(
      await exchange(url, `GET /v1/plain?${'a'.repeat(15_000)} HTTP/1.1\r\n${finalHeaders}`),
    );
    expect(query.status).toBe(200);
  });

  test('refuses headers that are too large', async () => {
    const answer = parseAnswer(await exchange(url, `${get}x-large: ${'x'.repeat(17 * 1024)}\r\n\r\n`));
    expect([answer.status, answer.headers.connection]).toEqual([431, 'close']);
    expect(JSON.parse(answer.body)).toMatchObject({
      error: { code: 'request_too_large', message: expect.stringMatching(/larger than 16 KiB/) as string },
    });
  });

  test.each([60, 98])('accepts %i header lines', async (count) => {
    const lines = Array.from({ length: count }, (_, index) => `x-${index}: y\r\n`).join('');
    const answer = parseAnswer(await exchange(url, `${get}${lines}connection: close\r\n\r\n`));
    expect([answer.status, PlainController.served]).toEqual([200, 1]);
  });

  test.each([99, 101, 500])('refuses %i header lines in addition to the host with 431', async (count) => {
    const lines = Array.from({ length: count }, (_, index) => `x-${index}: y\r\n`).join('');
    const answer = parseAnswer(await exchange(url, `${get}${lines}connection: close\r\n\r\n`));
    expect([answer.status, PlainController.served]).toEqual([431, 0]);
    expect(JSON.parse(answer.body)).toMatchObject({
      error: {
        code: 'request_too_large',
        message: expect.stringMatching(/more than 100 header lines/) as string,
      },
    });
  });

  test('ignores an unknown Expect header', async () => {
    const answer = parseAnswer(await exchange(url, `${get}expect: a-miracle\r\nconnection: close\r\n\r\n`));
    expect([answer.status, PlainController.served]).toEqual([200, 1]);
    expect(answer.headers['x-request-id']).toBeDefined();
  });

  test('times out on headers that never end', async () => {
    const answer = parseAnswer(await exchange(url, get));
    expect([answer.status, answer.headers.connection]).toEqual([408, 'close']);
    expect(JSON.parse(answer.body)).toHaveProperty('error.code', 'request_timeout');
  });

  test.each([
    ['no host', 'GET /v1/plain HTTP/1.1\r\n\r\n'],
    ['two hosts', `${get}host: y\r\n\r\n`],
    ['the same host twice', `${get}Host: x\r\n\r\n`],
    ['an empty host', 'GET /v1/plain HTTP/1.1\r\nhost:\r\n\r\n'],
    ['a list of hosts', 'GET /v1/plain HTTP/1.1\r\nhost: x, y\r\n\r\n'],
    ['a host with a path', 'GET /v1/plain HTTP/1.1\r\nhost: x/y\r\n\r\n'],
    ['a host with a user', 'GET /v1/plain HTTP/1.1\r\nhost: a@x\r\n\r\n'],
    ['a host with a port that is none', 'GET /v1/plain HTTP/1.1\r\nhost: x:8o\r\n\r\n'],
    ['a host with a blank', 'GET /v1/plain HTTP/1.1\r\nhost: x y\r\n\r\n'],
    ['a host beyond ASCII', 'GET /v1/plain HTTP/1.1\r\nhost: \xe4\r\n\r\n'],
    ['a body that is chunked and something else', `${get}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['a body in an unknown coding', `${get}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ])('refuses %s with 400 and closes the connection', async (_name, bytes) => {
    const answer = parseAnswer(await exchange(url, bytes));
    expect([answer.status, answer.headers.connection]).toEqual([400, 'close']);
    expect(JSON.parse(answer.body)).toHaveProperty('error.code', 'invalid_request');
    expect(PlainController.served).toBe(0);
  });

  test.each([
    ['a port', 'GET /v1/plain HTTP/1.1\r\nhost: x.example:8080\r\n'],
    ['an address', 'GET /v1/plain HTTP/1.1\r\nhost: 127.0.0.1\r\n'],
    ['an address of the newer kind', 'GET /v1/plain HTTP/1.1\r\nhost: [::1]:80\r\n'],
    ['a dot at its end', 'GET /v1/plain HTTP/1.1\r\nhost: X.example.\r\n'],
    ['the same one in the target', 'GET http://x:80/v1/plain HTTP/1.1\r\nhost: x\r\n'],
    ['none in the older version', 'GET /v1/plain HTTP/1.0\r\n'],
  ])('accepts a host with %s', async (_name, head) => {
    expect(parseAnswer(await exchange(url, `${head}connection: close\r\n\r\n`)).status).toBe(200);
  });

  test('closes the connection of a client that keeps it half-open', async () => {
    const { hostname, port } = new URL(url);
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    socket.write('garbage\r\n\r\n');
    socket.resume();
    await once(socket, 'end', { signal: AbortSignal.timeout(5_000) });
    const server = application.getHttpServer() as Server;
    const count = () =>
      new Promise<number>((resolve) => server.getConnections((_error, open) => resolve(open)));
    while ((await count()) > 0) await new Promise(setImmediate);
    socket.destroy();
  });

  test('keeps responses separate when garbage follows pipelined requests', async () => {
    const text = await exchange(url, `${get}\r\n${get}\r\ngarbage\r\n\r\n`);
    for (const part of text.split(/(?=HTTP\/1\.1 )/).filter((answer) => answer !== '')) {
      const { headers, body } = parseAnswer(part);
      expect(Buffer.byteLength(body)).toBe(Number(headers['content-length']));
    }
  });

  test('completes a response in progress without appending an error for later input', async () => {
    const socket = await open(url);
    socket.write('GET /v1/plain/slow HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\n\r\n');
    socket.write(`${get}\r\n`);
    socket.write('garbage\r\n\r\n');
    const text = await readToEnd(socket);
    expect(text.split('HTTP/1.1 ').length).toBeLessThanOrEqual(2);
  });

  test('answers pipelined requests in order', async () => {
    const text = await exchange(url, `${get}\r\n`.repeat(3) + `${get}connection: close\r\n\r\n`);
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(4);
    expect(PlainController.served).toBe(4);
  });
});
