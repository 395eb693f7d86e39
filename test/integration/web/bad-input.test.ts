import { setTimeout } from 'node:timers/promises';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser } from '../../support/people';
import { ask, exchange, open, parseAnswer, type RawAnswer, readToEnd } from './raw-exchange';
import { TrialModule } from './trial.module';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MIB = 1024 * 1024;

interface Fields {
  code: string;
  type: string;
  message: string;
  human_message: string;
  request_id: string;
}

const read = (answer: RawAnswer): Record<string, unknown> =>
  JSON.parse(answer.body) as Record<string, unknown>;
const errorOf = (answer: RawAnswer): Fields => read(answer).error as Fields;

/**
 * Measures the longest turn of the event loop, in milliseconds. Where other processes had the processor, only the work
 * of this process counts.
 */
function watchTurns(): { end(): number } {
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

describe.each(['true', 'false'])('bad input, with LEAN_ADAPTER=%s', (lean) => {
  let app: TestApp;
  let key: string;

  beforeAll(async () => {
    app = await startTestApp({ environment: { LEAN_ADAPTER: lean }, modules: [TrialModule] });
    key = (await addKey(app, await addUser(app))).text;
  });
  afterAll(() => app.close());

  const post = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
    ask(app.url, {
      method: 'POST',
      path,
      body,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    });
  const chat = (body: string | Buffer, headers: Record<string, string> = {}) =>
    post('/v1/chat/completions', body, headers);

  function expectGateway(answer: RawAnswer, status: number, code: string): void {
    expect([answer.status, errorOf(answer).code]).toEqual([status, code]);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(errorOf(answer).request_id).toBe(answer.headers['x-request-id']);
    expect(errorOf(answer).message).toBe(`${code} - ${errorOf(answer).human_message}`);
  }

  test('an unknown route, in the shape of its surface', async () => {
    expectGateway(await ask(app.url, { path: '/v1/nothing' }), 404, 'not_found');

    for (const path of ['/v1/messages/nothing', '/v1/messages/batches/none']) {
      const messages = read(await ask(app.url, { method: 'POST', path, body: '{}' }));
      expect(messages).toMatchObject({
        type: 'error',
        error: path.includes('batches')
          ? { type: 'api_error', code: 'not_implemented' }
          : { type: 'not_found_error', code: 'not_found' },
      });
      expect(messages.request_id).toMatch(uuid);
    }

    const portal = await ask(app.url, { path: '/nothing', headers: { accept: 'application/json' } });
    expect(portal.status).toBe(404);
    expect(read(portal)).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('not_found - '),
    });
    expect(read(portal).detail).toBe(read(portal).error);

    const page = await ask(app.url, { path: '/nothing', headers: { accept: 'text/html,*/*' } });
    expect(page.status).toBe(404);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.body).toMatch(/^<!doctype html>/i);
    expect(page.body).toContain(page.headers['x-request-id']);
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });

  test('a wrong verb', async () => {
    const gateway = await ask(app.url, { method: 'DELETE', path: '/v1/errors' });
    expectGateway(gateway, 405, 'method_not_allowed');
    expect(gateway.headers.allow).toBe('GET, HEAD');
    const portal = await ask(app.url, { path: '/trial/change' });
    expect([portal.status, portal.headers.allow, read(portal).code]).toEqual([
      405,
      'POST',
      'method_not_allowed',
    ]);
  });

  test('an unknown route is unknown whatever was sent to it', async () => {
    const answer = await ask(app.url, { method: 'POST', path: '/nothing', body: '{', headers: {} });
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
  ])('%s is invalid_json', async (_name, body) => {
    expectGateway(await chat(body), 400, 'invalid_json');
    const portal = await ask(app.url, {
      method: 'POST',
      path: '/trial/open-change',
      body,
      headers: { 'content-type': 'application/json' },
    });
    // A change without a body is one without fields.
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
  ])('%s: invalid_json, and others are served meanwhile', async (_name, make) => {
    const body = make();
    // A body that blocks does so every time; what else the process does is not always at the same moment.
    const longest: number[] = [];
    while (longest.length < 8 && !longest.some((milliseconds) => milliseconds < 100)) {
      longest.push(await longestBlock(body));
    }
    expect(Math.min(...longest)).toBeLessThan(100);
  });

  /** Nobody else was served for so many milliseconds while this body was refused. */
  async function longestBlock(body: string): Promise<number> {
    const socket = await open(app.url);
    const answer = readToEnd(socket);
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\nauthorization: Bearer ${key}\r\n`;
    socket.write(`${head}content-length: ${body.length}\r\n\r\n`);
    await new Promise((resolve) => socket.write(body.slice(0, -1), resolve));
    // Only the work on the whole body counts: this process has also had to send it.
    const turns = watchTurns();
    socket.write(body.slice(-1));
    expectGateway(parseAnswer(await answer), 400, 'invalid_json');
    return turns.end();
  }

  test('large but honest bodies are read', async () => {
    const answer = await chat(
      `{"model":"x","messages":[{"role":"user","content":"${'word '.repeat(MIB)}"}]}`,
    );
    expectGateway(answer, 404, 'model_not_found');
  });

  test('a compressed body', async () => {
    expectGateway(await chat('{}', { 'content-encoding': 'gzip' }), 415, 'unsupported_media_type');
    const form = await ask(app.url, { method: 'POST', path: '/trial/open-change', body: 'text' });
    expect([form.status, read(form).code]).toEqual([415, 'unsupported_media_type']);
  });

  test('a request id on every answer, the given one when it is a UUID', async () => {
    const mine = '0192f0c1-aaaa-7000-8000-0123456789ab';
    for (const path of ['/v1/errors', '/v1/nothing', '/health', '/', '/nothing']) {
      const echoed = await ask(app.url, { path, headers: { 'x-request-id': mine } });
      expect(echoed.headers['x-request-id']).toBe(mine);
      const made = await ask(app.url, { path, headers: { 'x-request-id': 'x<script>' } });
      expect(made.headers['x-request-id']).toMatch(uuid);
      expect(made.headers['x-content-type-options']).toBe('nosniff');
    }
  });

  describe('a body that is too large', () => {
    const head = (extra: string) =>
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer ${key}\r\n${extra}\r\n\r\n`;

    test('is refused by its announcement, before any of it came', async () => {
      const answer = parseAnswer(await exchange(app.url, head(`content-length: ${32 * MIB + 1}`)));
      expectGateway(answer, 413, 'request_too_large');
      expect(answer.headers.connection).toBe('close');
    });

    test('is refused at the byte that is too many, when it was not announced', async () => {
      const socket = await open(app.url);
      const answer = readToEnd(socket);
      socket.write(head('transfer-encoding: chunked'));
      const megabyte = `100000\r\n${'x'.repeat(MIB)}\r\n`;
      let sent = 0;
      while (!socket.closed && sent < 128) {
        sent += 1;
        await new Promise((resolve) => socket.write(megabyte, resolve));
        // The server looks several times a second: past the limit, no faster than a quick line.
        if (sent > 32) await setTimeout(20);
      }
      expectGateway(parseAnswer(await answer), 413, 'request_too_large');
      // Bytes under way when the connection closed may be more than the limit, but not by much.
      expect(sent).toBeLessThan(64);
    });

    test('reaches a client of the usual kind as an answer', async () => {
      const answer = await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: Buffer.alloc(33 * MIB, 'x'),
      });
      expect(answer.status).toBe(413);
    });

    test('in the portal', async () => {
      const answer = await post('/trial/open-change', 'x'.repeat(MIB + 1));
      expect([answer.status, read(answer).code, answer.headers.connection]).toEqual([
        413,
        'request_too_large',
        'close',
      ]);
    });
  });

  test.each(['string', 'nothing', 'error'])(
    'a handler that throws (%s) is an internal error',
    async (what) => {
      const answer = await ask(app.url, { path: `/v1/trial/throws/${what}` });
      expectGateway(answer, 500, 'internal_error');
      expect(answer.body).not.toContain('a detail of ours');
      expect(app.log.filter((line) => line.includes(errorOf(answer).request_id))).toHaveLength(1);
    },
  );

  test('an error in the middle of an answer breaks it off', async () => {
    const text = await exchange(app.url, 'GET /v1/trial/late HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(text).toContain('half an answer');
    expect(text).not.toContain('0\r\n\r\n');
    expect((await ask(app.url, { path: '/health' })).status).toBe(200);
  });

  test('an error of the portal, as JSON and as a page', async () => {
    const json = await ask(app.url, { path: '/trial/broken' });
    expect([json.status, read(json).code]).toEqual([500, 'internal_error']);
    const page = await ask(app.url, {
      path: '/trial/broken',
      headers: { accept: 'text/html', cookie: 'svc_time_zone=%zz; svc_theme=%00; svc_language=xx' },
    });
    expect(page.status).toBe(500);
    expect(page.body).toContain(page.headers['x-request-id']);
    expect(json.body + page.body).not.toContain('a detail of ours');
  });
});
