import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { sendRaw, open } from './raw-exchange';
import { PortalTrial, TrialModule } from './trial.module';

let app: TestApp;
let cookie: string;

beforeAll(async () => {
  app = await startTestApp({ modules: [TrialModule] });
  cookie = await signIn(app, await addUser(app));
});
afterAll(() => app.close());

const readJson = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await sendRaw(app.url, { path, headers });
  return { ...answer, json: JSON.parse(answer.body) as Record<string, unknown> };
};
const change = async (body: string, type = 'application/json', path = '/trial/change') => {
  const answer = await sendRaw(app.url, {
    method: 'POST',
    path,
    body,
    headers: { 'content-type': type, cookie, 'sec-fetch-site': 'same-origin' },
  });
  return { ...answer, json: JSON.parse(answer.body) as Record<string, unknown> };
};
const issuesOf = (json: Record<string, unknown>) =>
  (json.detail as { loc: unknown[]; type: string; msg: string }[]).map(({ loc, type }) => [...loc, type]);

test('a page route returns uncached HTML that loads nothing from other hosts', async () => {
  const { status, headers, body } = await sendRaw(app.url, {
    path: '/trial/page',
    headers: { accept: 'text/html' },
  });
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
  expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|http/);
  expect(headers).not.toHaveProperty('x-powered-by');
  expect(body).toMatch(/^<!doctype html>/i);
});

test('a page route uses the chosen language, else one that the browser accepts', async () => {
  const languageOf = async (headers: Record<string, string>) =>
    /<html[^>]* lang="(\w+)"/.exec((await sendRaw(app.url, { path: '/', headers })).body)?.[1];
  expect(await languageOf({})).toBe('en');
  expect(await languageOf({ 'accept-language': 'nl, de-CH;q=0.8' })).toBe('de');
  expect(await languageOf({ 'accept-language': 'de', cookie: 'svc_language=fr' })).toBe('fr');
  expect(await languageOf({ cookie: 'svc_language=../../etc; svc_time_zone=%zz' })).toBe('en');
});

test('a data route returns JSON', async () => {
  const { status, headers, json } = await readJson('/trial/data/7?days=30');
  expect([status, json, headers['cache-control']]).toEqual([200, { id: 7, days: 30 }, 'no-store']);
  expect((await readJson('/trial/data/7')).json).toEqual({ id: 7, days: null });
});

test('an invalid request returns 422 and names every invalid field', async () => {
  const query = await readJson('/trial/data/7?days=91');
  expect(query.status).toBe(422);
  expect(query.json).toMatchObject({ code: 'validation_error', param: 'days' });
  expect(query.json.detail).toEqual([{ loc: ['query', 'days'], type: 'max', msg: expect.any(String) }]);
  expect(query.json.message).toMatch(/^validation_error - /);

  expect(issuesOf((await readJson('/trial/data/x')).json)).toEqual([['path', 'id', 'isInt']]);
  expect(issuesOf((await readJson('/trial/data/7?days=3&days=4')).json)).toContainEqual([
    'query',
    'days',
    'isInt',
  ]);
  expect(issuesOf((await readJson('/trial/data/7?other=1')).json)).toEqual([
    ['query', 'other', 'whitelistValidation'],
  ]);
  expect(issuesOf((await change('{"email":1,"role":"platform_owner"}')).json)).toEqual([
    ['body', 'role', 'whitelistValidation'],
    ['body', 'email', 'isEmail'],
  ]);
  expect(issuesOf((await change('')).json)).toEqual([['body', 'email', 'isEmail']]);
});

test('a change route accepts JSON and forms', async () => {
  const expected = { email: 'a@example.com', names: ['email', 'note'] };
  expect((await change('{"email":"a@example.com","note":"x"}')).json).toEqual(expected);
  const form = await change(
    'email=a%40example.com&note=x+y',
    'application/x-www-form-urlencoded; charset=UTF-8',
  );
  expect([form.status, form.json, form.headers['cache-control']]).toEqual([200, expected, 'no-store']);
});

test.each([
  ['application/json', '{"email":"a@example.com","__proto__":{"polluted":true,"isAdmin":1}}'],
  ['application/json', '{"email":"a@example.com","constructor":{"prototype":{"polluted":true}}}'],
  ['application/x-www-form-urlencoded', 'email=a%40example.com&__proto__=1&__proto__.polluted=1'],
  ['application/x-www-form-urlencoded', 'email=a%40example.com&__proto__[polluted]=1'],
  ['application/x-www-form-urlencoded', 'email=a%40example.com&constructor.prototype.polluted=1'],
])('prototype pollution through %s has no effect: %s', async (type, body) => {
  const answer = await change(body, type);
  expect([200, 422]).toContain(answer.status);
  if (answer.status === 200) expect(answer.json).toEqual({ email: 'a@example.com', names: ['email'] });
  await change(body, type, '/trial/open-change');
  expect({}).not.toHaveProperty('polluted');
  expect({}).not.toHaveProperty('isAdmin');
});

test('a form with thousands of fields is refused without parsing', async () => {
  const answer = await change(
    'a&'.repeat(200_000),
    'application/x-www-form-urlencoded',
    '/trial/open-change',
  );
  expect([answer.status, answer.json.code]).toEqual([422, 'validation_error']);
});

test('a table route returns a CSV file without spreadsheet formulas', async () => {
  const { status, headers, body } = await sendRaw(app.url, { path: '/trial/table' });
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(headers['content-disposition']).toMatch(/^attachment; filename="trial_\d{4}-\d\d-\d\d_utc\.csv"$/);
  expect(headers['x-svc-export-capped-at']).toBe('1');
  expect(body).toBe('name,formula\r\n"a ""b"", c",\'=1+1\r\n');
});

test('a table route returns an error if its query fails immediately, and aborts if it fails later', async () => {
  const refusal = await readJson('/trial/failing-table');
  expect([refusal.status, refusal.json.code]).toEqual([500, 'internal_error']);
  expect(refusal.headers).not.toHaveProperty('content-disposition');
  const abortedResponse = await fetch(`${app.url}/trial/breaking-table`)
    .then((answer) => answer.text())
    .catch(String);
  expect(abortedResponse).not.toMatch(/row 49\r\n$/);
  expect(abortedResponse).not.toContain('a detail of ours');
});

test('a table route fetches rows no faster and no further than the client reads', async () => {
  PortalTrial.pulled = 0;
  const socket = await open(app.url);
  socket.pause();
  socket.write(`GET /trial/endless-table HTTP/1.1\r\nhost: ${new URL(app.url).host}\r\n\r\n`);
  // Once the buffers at both ends are full, no more rows are fetched.
  let before = -1;
  while (before !== PortalTrial.pulled || before === 0) {
    before = PortalTrial.pulled;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(PortalTrial.pulled * 16_384).toBeLessThan(64 * 1024 * 1024);
  socket.destroy();
  await PortalTrial.endless;
});

test('a legacy path redirects to the new one', async () => {
  const { status, headers } = await sendRaw(app.url, { path: '/trial/old' });
  expect([status, headers.location]).toEqual([302, '/trial/page']);
});

test('public files have the right content type, and their folder cannot be left', async () => {
  const style = await sendRaw(app.url, { path: '/assets/app.css' });
  expect([style.status, style.headers['content-type']]).toEqual([200, 'text/css; charset=utf-8']);
  expect(style.headers['x-content-type-options']).toBe('nosniff');
  for (const path of [
    '/assets/../package.json',
    '/assets/%2e%2e/package.json',
    '/assets/..%2fpackage.json',
    '/assets/%zz',
  ]) {
    const answer = await sendRaw(app.url, { path });
    expect([400, 403, 404]).toContain(answer.status);
    expect(JSON.parse(answer.body)).toHaveProperty('code');
  }
});
