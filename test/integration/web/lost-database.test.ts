import { startTestApp, type TestApp } from '../../support/app';
import { proxyTo, type Proxy } from '../../support/proxy';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { generateKey } from '#inside/keys/key-text';
import { addKey, addUser, signIn } from '../../support/people';
import { ask } from './raw-exchange';
import { TrialModule } from './trial.module';

let database: TestDatabase;
let proxy: Proxy;
let app: TestApp;
let key: string;
let cookie: string;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await proxyTo(database.url);
  app = await startTestApp({
    modules: [TrialModule],
    environment: { DATABASE_URL: proxy.url, MIGRATION_DATABASE_URL: database.ownerUrl },
  });
  const userId = await addUser(app);
  key = (await addKey(app, userId)).text;
  cookie = await signIn(app, userId);
});
afterAll(async () => {
  await app.close();
  await proxy.close();
  await database.drop();
});

const check = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await ask(app.url, { path, headers });
  const body = JSON.parse(answer.body) as { code?: string; error?: { code?: string } };
  return {
    status: answer.status,
    code: body.error?.code ?? body.code,
    retryAfter: answer.headers['retry-after'],
  };
};

test('without its database the service says so, and never blames the caller', async () => {
  expect((await check('/trial/me', { cookie })).status).toBe(200);
  await proxy.cut();

  const bearer = { authorization: `Bearer ${key}` };
  const unavailable = { status: 503, retryAfter: expect.stringMatching(/^[1-9]\d*$/) };
  for (let round = 0; round < 2; round += 1) {
    expect(await check('/v1/trial/bearer', bearer)).toEqual({ ...unavailable, code: 'auth_unavailable' });
    expect(await check('/v1/trial/either', { 'x-api-key': key })).toEqual({
      ...unavailable,
      code: 'auth_unavailable',
    });
    const unknown = { authorization: `Bearer ${generateKey().text}` };
    expect(await check('/v1/trial/bearer', unknown)).toEqual({ ...unavailable, code: 'auth_unavailable' });
    expect(await check('/trial/me', { cookie })).toEqual({ ...unavailable, code: 'service_unavailable' });
    expect(await check('/trial/administration', { cookie })).toEqual({
      ...unavailable,
      code: 'service_unavailable',
    });
  }
  expect(await check('/health')).toMatchObject({ status: 200 });
  expect(await check('/health/live')).toMatchObject({ status: 200 });
  expect(await check('/health/ready')).toEqual({ ...unavailable, code: 'service_unavailable' });
  // Pages that need no database are served as ever, refusals included.
  expect(await check('/v1/errors/not_found')).toMatchObject({ status: 200 });
  expect(await check('/v1/trial/bearer', { authorization: 'Bearer nobody' })).toMatchObject({ status: 401 });
  expect(await check('/trial/me')).toMatchObject({ status: 401 });
});

test('once it is back, so is everybody', async () => {
  await proxy.restore();
  expect((await check('/health/ready')).status).toBe(200);
  expect((await check('/v1/trial/bearer', { authorization: `Bearer ${key}` })).status).toBe(200);
  expect((await check('/trial/me', { cookie })).status).toBe(200);
});

test('a database that was dropped is gone as well', async () => {
  await database.drop();
  expect(await check('/v1/trial/bearer', { authorization: `Bearer ${generateKey().text}` })).toMatchObject({
    status: 503,
    code: 'auth_unavailable',
  });
  expect(await check('/health/ready')).toMatchObject({ status: 503 });
  expect(await check('/health')).toMatchObject({ status: 200 });
  expect((await check('/trial/me', { cookie })).status).toBe(503);
});
