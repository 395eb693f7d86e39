import { SessionsService } from '#product/identity';
import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import { type Simulator, startSimulator } from '../../support/simulator';
import { sendJson } from '../web/from-page';
import { ask } from '../web/raw-exchange';
import { until } from '../../support/until';

interface Issued {
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
const issue = async (cookie: string): Promise<Issued> => {
  const answer = await post('/api/webchat-key', cookie);
  expect(answer.status).toBe(200);
  expect(answer.headers['cache-control']).toBe('no-store');
  return JSON.parse(answer.body) as Issued;
};
const call = async (key: string, path = '/v1/chat/completions') => {
  const answer = await ask(app.url, {
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

test('it calls the chat route alone, within a budget of its own', async () => {
  const cookie = await signIn(app, await addUser(app));
  const { key, budget_limit, budget_period } = await issue(cookie);
  expect([budget_limit, budget_period]).toEqual([1, 'monthly']);
  expect(await call(key)).toMatchObject({ status: 200 });
  expect(await call(key, '/v1/messages')).toMatchObject({ status: 403, code: 'webchat_key_scope' });
  expect(await call(key, '/v1/embeddings')).toMatchObject({ status: 403, code: 'webchat_key_scope' });
  expect(app.log.join('')).not.toContain(key);
});

test('a person has one: a new secret ends the one before, the budget stays', async () => {
  const cookie = await signIn(app, await addUser(app));
  const first = await issue(cookie);
  const second = await issue(cookie);
  expect(second.id).toBe(first.id);
  expect(second.key).not.toBe(first.key);
  expect(await call(first.key)).toMatchObject({ status: 401, code: 'invalid_api_key' });
  expect(await call(second.key)).toMatchObject({ status: 200 });
});

test('it ends with its session, and the next session has the same budget under a new secret', async () => {
  const userId = await addUser(app);
  const cookie = await signIn(app, userId);
  const first = await issue(cookie);
  const sessions = app.application.get(SessionsService, { strict: false });
  await app.database.transaction((tx) => sessions.end(tx, cookie.slice('svc_session='.length)));
  expect(await statusOf(first.id)).toBe('disabled');
  await until(async () => (await call(first.key)).status === 401);
  const next = await issue(await signIn(app, userId));
  expect(next.id).toBe(first.id);
  expect(await call(next.key)).toMatchObject({ status: 200 });
  expect(await call(first.key)).toMatchObject({ status: 401 });
});

test('turns of the chat count against its budget, which stops them', async () => {
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
    const refused = await post(`/api/chat/${id}`, cookie, { content: 'Again' });
    return refused.status === 402 && refused.body.includes('budget_exceeded');
  });
});

test('nobody who is not signed in gets one', async () => {
  expect((await post('/api/webchat-key', '')).status).toBe(401);
});

test('has no page of its own and is changed by no form: its budget and its end are the operator’s', async () => {
  const cookie = await signIn(app, await addUser(app));
  const { id } = await issue(cookie);
  const headers = { cookie, accept: 'text/html' };
  expect((await ask(app.url, { path: `/dashboard/keys/${id}`, headers })).status).toBe(404);
  for (const change of [{ budget_limit: 1_000 }, { action: 'pause' }, { action: 'rotate' }])
    expect((await post(`/dashboard/keys/${id}`, cookie, change)).status).toBe(404);
  const [kept] = await app.database.query<{ name: string }>('SELECT name FROM api_key WHERE id = $1', [id]);
  const jump = await ask(app.url, {
    path: `/dashboard/jump?q=${encodeURIComponent(kept?.name ?? '')}`,
    headers,
  });
  expect([jump.status, jump.body.includes(`/dashboard/keys/${id}`)]).toEqual([200, false]);
});
