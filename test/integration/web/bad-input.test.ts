import { setTimeout } from 'node:timers/promises';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser } from '../../support/users';
import { sendRaw, exchange, open, parseAnswer, type RawAnswer, readToEnd } from './raw-exchange';
import { TrialModule } from './trial.module';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MIB = 1024 * 1024;

interface BadInputError {
  code: string;
  type: string;
  message: string;
  human_message: string;
  request_id: string;
}

const read = (answer: RawAnswer): Record<string, unknown> =>
  JSON.parse(answer.body) as Record<string, unknown>;
const errorOf = (answer: RawAnswer): BadInputError => read(answer).error as BadInputError;

/** Measures the longest turn of the event loop in ms. Time during which other processes held the CPU does not count. */
function watchEventLoop(): { end(): number } {
  let [longest, since, used] = [0, performance.now(), process.cpuUsage()];
  let next: NodeJS.Immediate;
  const turn = (): void => {
    const { user, system } = process.cpuUsage(used);
    longest = Math.max(longest, Math.min(performance.now() - since, (user + system) / 1_000));
    [since, used] = [performance.now(), process.cpuUsage()];
    next = setImmediate(turn);
  };
  next = setImmediate(turn);
  return {
    end: () => {
      clearImmediate(next);
      return longest;
    },
  };
}

describe.each(['true', 'false'])('Bad input, with LEAN_ADAPTER=%s', (lean) => {
  let app: TestApp;
  let key: string;

  beforeAll(async () => {
    app = await startTestApp({ environment: { LEAN_ADAPTER: lean }, modules: [TrialModule] });
    key = (await addKey(app, await addUser(app))).text;
  });
  afterAll(() => app.close());

  const post = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
    sendRaw(app.url, {
      method: 'POST',
      path,
      body,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    });
  const chat = (body: string | Buffer, headers: Record<string, string> = {}) =>
    post('/v1/chat/completions', body, headers);

  function expectGatewayError(answer: RawAnswer, status: number, code: string): void {
    expect([answer.status, errorOf(answer).code]).toEqual([status, code]);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(errorOf(answer).request_id).toBe(answer.headers['x-request-id']);
    expect(errorOf(answer).message).toBe(`${code} - ${errorOf(answer).human_message}`);
  }

  test('an unknown route returns 404 in the error format of its API', async () => {
    expectGatewayError(await sendRaw(app.url, { path: '/v1/nothing' }), 404, 'not_found');

    for (const path of ['/v1/messages/nothing', '/v1/messages/batches/none']) {
      const messages = read(await sendRaw(app.url, { method: 'POST', path, body: '{}' }));
      expect(messages).toMatchObject({
        type: 'error',
        error: path.includes('batches')
          ? { type: 'api_error', code: 'not_implemented' }
          : { type: 'not_found_error', code: 'not_found' },
      });
      expect(messages.request_id).toMatch(uuid);
    }

    const portal = await sendRaw(app.url, { path: '/nothing', headers: { accept: 'application/json' } });
    expect(portal.status).toBe(404);
    expect(read(portal)).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('not_found - '),
    });
    expect(read(portal).detail).toBe(read(portal).error);

    const page = await sendRaw(app.url, { path: '/nothing', headers: { accept: 'text/html,*/*' } });
    expect(page.status).toBe(404);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.body).toMatch(/^<!doctype html>/i);
    expect(page.body).toContain(page.headers['x-request-id']);
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });

  test('a wrong method returns 405', async () => {
    const gateway = await sendRaw(app.url, { method: 'DELETE', path: '/v1/errors' });
    expectGatewayError(gateway, 405, 'method_not_allowed');
    expect(gateway.headers.allow).toBe('GET, HEAD');
    const portal = await sendRaw(app.url, { path: '/trial/change' });
    expect([portal.status, portal.headers.allow, read(portal).code]).toEqual([
      405,
      'POST',
      'method_not_allowed',
    ]);
  });

  test('an unknown route returns 404 whatever the request body', async () => {
    const answer = await sendRaw(app.url, { method: 'POST', path: '/nothing', body: '{', headers: {} });
    expect([answer.status, read(answer).code]).toEqual([404, 'not_found']);
  });

  test.each([
    ['broken text', '{"model":'],
    ['nothing at all', ''],
    ['a list', '[1]'],
    ['a number', '1'],
    ['null', 'null'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d])],
    ['a lone comma', '{"a":1,}'],
    ['65 levels', '{"a":'.repeat(65) + '1' + '}'.repeat(65)],
    ['65 levels in much text', `["${'x'.repeat(300_000)}",${'['.repeat(64)}${']'.repeat(64)}]`],
  ])('a body of %s returns invalid_json', async (_name, body) => {
    expectGatewayError(await chat(body), 400, 'invalid_json');
    const portal = await sendRaw(app.url, {
      method: 'POST',
      path: '/trial/open-change',
      body,
      headers: { 'content-type': 'application/json' },
    });
    // A change request without a body counts as one without fields.
    if (body !== '')
      expect([portal.status, read(portal)]).toEqual([
        422,
        expect.objectContaining({
          code: 'validation_error',
          detail: [{ loc: ['body'], msg: expect.any(String), type: 'json' }],
        }),
      ]);
  });

  test.each([
    ['a million keys', () => `{${Array.from({ length: 1_000_000 }, (_, at) => `"k${at}":0`).join(',')}}`],
    ['a million levels', () => '['.repeat(1_000_000)],
    ['millions of numbers', () => `[${'1,'.repeat(3_000_000)}1]`],
    ['millions of empty objects', () => `[${'{},'.repeat(2_000_000)}1]`],
  ])('a body of %s returns invalid_json without blocking other requests', async (_name, make) => {
    const body = make();
    // A blocking body blocks on every attempt; other work of the process varies between attempts.
    const longestTurns: number[] = [];
    while (longestTurns.length < 8 && !longestTurns.some((milliseconds) => milliseconds < 100)) {
      longestTurns.push(await measureLongestBlock(body));
    }
    expect(Math.min(...longestTurns)).toBeLessThan(100);
  });

  /** Returns the longest time in ms for which the event loop was blocked while this body was refused. */
  async function measureLongestBlock(body: string): Promise<number> {
    const socket = await open(app.url);
    const answer = readToEnd(socket);
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\nauthorization: Bearer ${key}\r\n`;
    socket.write(`${head}content-length: ${body.length}\r\n\r\n`);
    await new Promise((resolve) => socket.write(body.slice(0, -1), resolve));
    // Starts after sending, because the sending happens in the same process.
    const turns = watchEventLoop();
    socket.write(body.slice(-1));
    expectGatewayError(parseAnswer(await answer), 400, 'invalid_json');
    return turns.end();
  }

  test('a large valid body is accepted', async () => {
    const answer = await chat(
      `{"model":"x","messages":[{"role":"user","content":"${'word '.repeat(MIB)}"}]}`,
    );
    expectGatewayError(answer, 404, 'model_not_found');
  });

  test('a compressed body returns 415', async () => {
    expectGatewayError(await chat('{}', { 'content-encoding': 'gzip' }), 415, 'unsupported_media_type');
    const form = await sendRaw(app.url, { method: 'POST', path: '/trial/open-change', body: 'text' });
    expect([form.status, read(form).code]).toEqual([415, 'unsupported_media_type']);
  });

  test("every response has a request id, which is the caller's if that is a UUID", async () => {
    const callerId = '0192f0c1-aaaa-7000-8000-0123456789ab';
    for (const path of ['/v1/errors', '/v1/nothing', '/health', '/', '/nothing']) {
      const echoedResponse = await sendRaw(app.url, { path, headers: { 'x-request-id': callerId } });
      expect(echoedResponse.headers['x-request-id']).toBe(callerId);
      const generatedResponse = await sendRaw(app.url, { path, headers: { 'x-request-id': 'x<script>' } });
      expect(generatedResponse.headers['x-request-id']).toMatch(uuid);
      expect(generatedResponse.headers['x-content-type-options']).toBe('nosniff');
    }
  });

  describe('A body that is too large', () => {
    const head = (extra: string) =>
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer ${key}\r\n${extra}\r\n\r\n`;

    test('is refused by its content-length before it is sent', async () => {
      const answer = parseAnswer(await exchange(app.url, head(`content-length: ${32 * MIB + 1}`)));
      expectGatewayError(answer, 413, 'request_too_large');
      expect(answer.headers.connection).toBe('close');
    });

    test('is refused at the first byte over the limit if it has no content-length', async () => {
      const socket = await open(app.url);
      const answer = readToEnd(socket);
      socket.write(head('transfer-encoding: chunked'));
      const megabyte = `100000\r\n${'x'.repeat(MIB)}\r\n`;
      let sentMegabytes = 0;
      while (!socket.closed && sentMegabytes < 128) {
        sentMegabytes += 1;
        await new Promise((resolve) => socket.write(megabyte, resolve));
        // The server reacts within a fraction of a second; slow down past the limit to the speed of a fast line.
        if (sentMegabytes > 32) await setTimeout(20);
      }
      expectGatewayError(parseAnswer(await answer), 413, 'request_too_large');
      // Bytes in transit when the connection closed can exceed the limit slightly.
      expect(sentMegabytes).toBeLessThan(64);
    });

    test('returns a readable response to an ordinary client', async () => {
      const answer = await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: Buffer.alloc(33 * MIB, 'x'),
      });
      expect(answer.status).toBe(413);
    });

    test('returns 413 in the portal', async () => {
      const answer = await post('/trial/open-change', 'x'.repeat(MIB + 1));
      expect([answer.status, read(answer).code, answer.headers.connection]).toEqual([
        413,
        'request_too_large',
        'close',
      ]);
    });
  });

  test.each(['string', 'nothing', 'error'])(
    'a handler that throws (%s) returns internal_error',
    async (what) => {
      const answer = await sendRaw(app.url, { path: `/v1/trial/throws/${what}` });
      expectGatewayError(answer, 500, 'internal_error');
      expect(answer.body).not.toContain('a detail of ours');
      expect(app.log.filter((line) => line.includes(errorOf(answer).request_id))).toHaveLength(1);
    },
  );

  test('an error in the middle of a response aborts the connection', async () => {
    const text = await exchange(app.url, 'GET /v1/trial/late HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(text).toContain('half an answer');
    expect(text).not.toContain('0\r\n\r\n');
    expect((await sendRaw(app.url, { path: '/health' })).status).toBe(200);
  });

  test('a portal error is returned as JSON or as a page', async () => {
    const json = await sendRaw(app.url, { path: '/trial/broken' });
    expect([json.status, read(json).code]).toEqual([500, 'internal_error']);
    const page = await sendRaw(app.url, {
      path: '/trial/broken',
      headers: { accept: 'text/html', cookie: 'svc_time_zone=%zz; svc_theme=%00; svc_language=xx' },
    });
    expect(page.status).toBe(500);
    expect(page.body).toContain(page.headers['x-request-id']);
    expect(json.body + page.body).not.toContain('a detail of ours');
  });
});
