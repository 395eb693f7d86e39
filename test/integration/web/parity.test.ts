import { isDeepStrictEqual } from 'node:util';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser } from '../../support/users';
import { sendRaw, type RawAnswer, type RawRequest } from './raw-exchange';
import { TrialModule } from './trial.module';

let lean: TestApp;
let plain: TestApp;
const keys = new Map<TestApp, string>();

beforeAll(async () => {
  const start = (adapter: string) =>
    startTestApp({ modules: [TrialModule], environment: { LEAN_ADAPTER: adapter, BODY_LIMIT: '64KiB' } });
  [lean, plain] = await Promise.all([start('true'), start('false')]);
  for (const app of [lean, plain]) keys.set(app, (await addKey(app, await addUser(app))).text);
});
afterAll(() => Promise.all([lean.close(), plain.close()]));

const get = (path: string, headers: Record<string, string> = {}): RawRequest => ({ path, headers });
const chat = (body: string | Buffer, headers: Record<string, string> = {}): RawRequest => ({
  method: 'POST',
  path: '/v1/chat/completions',
  body,
  headers: { 'content-type': 'application/json', authorization: 'Bearer KEY', ...headers },
});

const paths = [
  '/v1/errors',
  '/v1/errors?x=1&x=2',
  '/v1/errors/not_found',
  '/v1/errors/no-such-code',
  '/v1/errors/not%5Ffound',
  '/v1/errors/a%2Fb',
  '/v1/errors/%e2%82%ac',
  '/v1/errors/%zz',
  '/v1/errors/%ff',
  '/v1/errors/',
  '/v1/errors//',
  '//v1/errors',
  '/v1//errors',
  '/V1/errors',
  '/v1/Errors',
  '/v1/errors;x=1',
  '/v1/errors;',
  '/v1/./errors',
  '/v1/%2e/errors',
  '/v1/x/../errors',
  '/v1/%2e%2e/v1/errors',
  '/v1/%65rrors',
  '/v1%2ferrors',
  '/v1\\errors',
  '/v1/errors%00',
  '/v1/errors/__proto__',
  '/v1/errors/constructor',
  '/v1',
  '/v1/',
  '/v1?x',
  '/v2/errors',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/nothing',
  'http://elsewhere.example/v1/errors/not_found?x=1',
  'http://elsewhere.example',
  '*',
  '/v1/trial/echo/fixed',
  '/v1/trial/echo/FIXED',
  '/v1/trial/echo/a%20b?days=3&tag=a&tag=b&empty&__proto__=1&q=%zz&plus=a+b',
  '/v1/trial/echo/%C3%A9',
  '/v1/trial/echo/a:b@c,d',
  '/v1/trial/echo/',
  '/v1/trial/text',
  '/v1/trial/throws/string',
  '/v1/trial/throws/nothing',
  '/v1/trial/throws/error',
  '/v1/trial/late',
];

const requests: RawRequest[] = [
  ...paths.map((path) => get(path)),
  ...['HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'].flatMap((method) => [
    { method, path: '/v1/errors' },
    { method, path: '/v1/errors/not_found' },
    { method, path: '/v1/chat/completions' },
    { method, path: '/v1/nothing' },
  ]),
  { method: 'OPTIONS', path: '*' },
  { method: 'POST', path: '/v1/trial/nothing' },
  { method: 'POST', path: '/v1/errors', headers: { 'x-http-method-override': 'GET' } },
  { method: 'GET', path: '/v1/chat/completions', headers: { 'x-http-method-override': 'POST' } },
  get('/v1/errors', { accept: 'text/html' }),
  get('/v1/nothing', { accept: 'text/html' }),
  get('/v1/errors/not_found', { 'x-request-id': '0192f0c1-0000-7000-8000-000000000001' }),
  get('/v1/errors/not_found', { 'x-request-id': 'mine' }),
  get('/v1/errors/not_found', { 'if-none-match': '"x"', 'accept-encoding': 'gzip', range: 'bytes=0-1' }),
  get('/v1/trial/bearer'),
  get('/v1/trial/bearer', { authorization: 'Bearer KEY' }),
  get('/v1/trial/bearer', { authorization: 'bearer   KEY ' }),
  get('/v1/trial/bearer', { authorization: 'Basic KEY' }),
  get('/v1/trial/either', { 'x-api-key': 'KEY' }),
  get('/v1/trial/either', { 'x-api-key': 'KEY', authorization: 'Bearer svc_other' }),
  get('/v1/trial/root', { authorization: 'Bearer KEY' }),
  chat('{"model":"nothing","messages":[{"role":"user","content":"Hi"}]}'),
  chat('{"model":"nothing","messages":[{"role":"user","content":"Hi"}]}', { 'content-type': 'text/plain' }),
  chat('{"messages":[]}'),
  chat(''),
  chat('{'),
  chat('[]'),
  chat('null'),
  chat('"text"'),
  chat(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
  chat('['.repeat(65) + ']'.repeat(65)),
  chat('x'.repeat(64 * 1024 + 1)),
  chat('{}', { 'content-encoding': 'gzip' }),
  chat('{}', { authorization: 'Bearer nobody' }),
];

/** Returns the response without the parts that can differ: time and request id. */
function comparable(answer: RawAnswer): object {
  const { date, 'x-request-id': id = '', 'request-id': _same, ...headers } = answer.headers;
  return {
    status: answer.status,
    headers: { ...headers, date: date !== undefined, identified: id !== '' },
    body: answer.body.replaceAll(id, 'REQUEST'),
  };
}

async function outcome(app: TestApp, request: RawRequest): Promise<object> {
  const key = keys.get(app) ?? '';
  const headers = Object.entries(request.headers ?? {});
  const answer = await sendRaw(app.url, {
    ...request,
    headers: Object.fromEntries(headers.map(([name, value]) => [name, value.replace('KEY', key)])),
  });
  const publicId = key.slice(4, 12);
  return JSON.parse(JSON.stringify(comparable(answer)).replaceAll(publicId, 'PUBLIC')) as object;
}

const label = ({ method = 'GET', path, headers = {}, body }: RawRequest): string =>
  [method, path, JSON.stringify(headers), String(body ?? '').slice(0, 40)].join(' ');

test('the lean adapter and Express return identical responses', async () => {
  const compared: { request: string; lean: object; plain: object }[] = [];
  // Sequential, because the key's remaining rate limit depends on the number of earlier requests.
  for (const request of requests) {
    const [ofLean, ofPlain] = await Promise.all([outcome(lean, request), outcome(plain, request)]);
    compared.push({ request: label(request), lean: ofLean, plain: ofPlain });
  }
  const differing = compared.filter((pair) => !isDeepStrictEqual(pair.lean, pair.plain));
  expect(differing).toEqual([]);
  const statuses = new Set(compared.map((pair) => (pair.lean as { status: number }).status));
  expect([...statuses].sort()).toEqual([200, 201, 204, 400, 401, 403, 404, 405, 413, 415, 421, 500, 501]);
});

test.each([
  ['/v1/errors/not%5Ffound', 200],
  ['/v1/errors/%zz', 400],
  ['/v1/errors/', 404],
  ['//v1/errors', 404],
  ['/V1/errors', 404],
  ['/v1/errors;x=1', 404],
  ['/v1/%2e/errors', 404],
  ['/v1/errors?x=1', 200],
  ['http://elsewhere.example/v1/errors/not_found', 200],
])('%s returns %i', async (path, status) => {
  for (const app of [lean, plain]) expect((await sendRaw(app.url, { path })).status).toBe(status);
});

test('HEAD equals GET without the body, and no header overrides the method', async () => {
  for (const app of [lean, plain]) {
    const head = await sendRaw(app.url, { method: 'HEAD', path: '/v1/errors/not_found' });
    const getResponse = await sendRaw(app.url, { path: '/v1/errors/not_found' });
    expect([head.status, head.body]).toEqual([200, '']);
    expect(head.headers['content-length']).toBe(getResponse.headers['content-length']);
    const overrideResponse = await sendRaw(app.url, {
      method: 'POST',
      path: '/v1/errors',
      headers: { 'x-http-method-override': 'GET' },
    });
    expect([overrideResponse.status, overrideResponse.headers.allow]).toEqual([405, 'GET, HEAD']);
  }
});

test('a handler reads the same parameters with both adapters', async () => {
  const path = '/v1/trial/echo/a%20b?days=3&tag=a&tag=b&empty&plus=a+b';
  const expected = { name: 'a b', query: { days: '3', tag: ['a', 'b'], empty: '', plus: 'a b' } };
  for (const app of [lean, plain])
    expect(JSON.parse((await sendRaw(app.url, { path })).body)).toEqual(expected);
});
