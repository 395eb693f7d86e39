import { SessionsService } from '#product/identity';
import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { type Simulator, startSimulator } from '../../support/simulator';
import { sendJson } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';
import { until } from '../../support/until';

interface IssuedWebchatKey {
  readonly id: number;
  readonly key: string;
  readonly expires_at: string;
  readonly budget_limit: number;
  readonly budget_used: number;
  readonly budget_period: string;
}

let app: TestApp;
let supplier: Simulator;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url, environment: { WEBCHAT_BUDGET: '1' } });
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

const post = (path: string, cookie: string, body: object = {}) =>
  sendJson({ url: app.url, cookie }, path, body);
const issueKey = async (cookie: string): Promise<IssuedWebchatKey> => {
  const answer = await post('/api/webchat-key', cookie);
  expect(answer.status).toBe(200);
  expect(answer.headers['cache-control']).toBe('no-store');
  return JSON.parse(answer.body) as IssuedWebchatKey;
};
const call = async (key: string, path = '/v1/chat/completions') => {
  const answer = await sendRaw(app.url, {
    method: 'POST',
    path,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: path === '/v1/embeddings' ? 'sim-embed' : 'sim-small',
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  });
  return { status: answer.status, code: /"code":\s*"(\w+)"/.exec(answer.body)?.[1] };
};
const statusOf = async (id: number) =>
  (await app.database.query<{ status: string }>('SELECT status FROM api_key WHERE id = $1', [id]))[0]?.status;

test('the web chat key can only call the chat route, within its own budget', async () => {
  const cookie = await signIn(app, await addUser(app));
  const { key, budget_limit, budget_period } = await issueKey(cookie);
  expect([budget_limit, budget_period]).toEqual([1, 'monthly']);
  expect(await call(key)).toMatchObject({ status: 200 });
  expect(await call(key, '/v1/messages')).toMatchObject({ status: 403, code: 'webchat_key_scope' });
  expect(await call(key, '/v1/embeddings')).toMatchObject({ status: 403, code: 'webchat_key_scope' });
  expect(app.log.join('')).not.toContain(key);
});

test('a user has one web chat key: a new secret replaces the former one and the budget stays', async () => {
  const cookie = await signIn(app, await addUser(app));
  const firstKey = await issueKey(cookie);
  const secondKey = await issueKey(cookie);
  expect(secondKey.id).toBe(firstKey.id);
  expect(secondKey.key).not.toBe(firstKey.key);
  expect(await call(firstKey.key)).toMatchObject({ status: 401, code: 'invalid_api_key' });
  expect(await call(secondKey.key)).toMatchObject({ status: 200 });
});

test('the key ends with its session, and the next session gets a new secret with the same budget', async () => {
  const userId = await addUser(app);
  const cookie = await signIn(app, userId);
  const firstKey = await issueKey(cookie);
  const sessions = app.application.get(SessionsService, { strict: false });
  await app.database.transaction((tx) => sessions.end(tx, cookie.slice('svc_session='.length)));
  expect(await statusOf(firstKey.id)).toBe('disabled');
  await until(async () => (await call(firstKey.key)).status === 401);
  const nextKey = await issueKey(await signIn(app, userId));
  expect(nextKey.id).toBe(firstKey.id);
  expect(await call(nextKey.key)).toMatchObject({ status: 200 });
  expect(await call(firstKey.key)).toMatchObject({ status: 401 });
});

test('chat turns count towards the budget, which stops them when used up', async () => {
  const userId = await addUser(app);
  const cookie = await signIn(app, userId);
  const conversation = await post('/api/conversations', cookie, { model: 'sim-small' });
  const { id } = JSON.parse(conversation.body) as { id: number };
  expect((await post(`/api/chat/${id}`, cookie, { content: 'Hello' })).status).toBe(200);
  await app.database.query(
    `SELECT set_spending_limit('key', key_id, 'monthly', 0) FROM webchat_key WHERE user_id = $1`,
    [userId],
  );
  await until(async () => {
    const refusal = await post(`/api/chat/${id}`, cookie, { content: 'Again' });
    return refusal.status === 402 && refusal.body.includes('budget_exceeded');
  });
});

test('a web chat key requires a session', async () => {
  expect((await post('/api/webchat-key', '')).status).toBe(401);
});

test('the key has no page and cannot be changed, because the operator sets its budget and expiry', async () => {
  const cookie = await signIn(app, await addUser(app));
  const { id } = await issueKey(cookie);
  const headers = { cookie, accept: 'text/html' };
  expect((await sendRaw(app.url, { path: `/dashboard/keys/${id}`, headers })).status).toBe(404);
  for (const change of [{ budget_limit: 1_000 }, { action: 'pause' }, { action: 'rotate' }])
    expect((await post(`/dashboard/keys/${id}`, cookie, change)).status).toBe(404);
  const [kept] = await app.database.query<{ name: string }>('SELECT name FROM api_key WHERE id = $1', [id]);
  const keyPage = await sendRaw(app.url, {
    path: `/dashboard/jump?q=${encodeURIComponent(kept?.name ?? '')}`,
    headers,
  });
  expect([keyPage.status, keyPage.body.includes(`/dashboard/keys/${id}`)]).toEqual([200, false]);
});
