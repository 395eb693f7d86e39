import { startTestApp, type TestApp } from '../../support/app';
import { startDatabaseProxy, type DatabaseProxy } from '../../support/proxy';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { generateKey } from '#inside/keys/key-text';
import { addKey, addUser, signIn } from '../../support/users';
import { sendRaw } from './raw-exchange';
import { TrialModule } from './trial.module';

let database: TestDatabase;
let proxy: DatabaseProxy;
let app: TestApp;
let key: string;
let cookie: string;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
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

const checkResponse = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await sendRaw(app.url, { path, headers });
  const body = JSON.parse(answer.body) as { code?: string; error?: { code?: string } };
  return {
    status: answer.status,
    code: body.error?.code ?? body.code,
    retryAfter: answer.headers['retry-after'],
  };
};

test('without its database the service returns 503 and never blames the caller', async () => {
  expect((await checkResponse('/trial/me', { cookie })).status).toBe(200);
  await proxy.cut();

  const bearer = { authorization: `Bearer ${key}` };
  const unavailable = { status: 503, retryAfter: expect.stringMatching(/^[1-9]\d*$/) };
  for (let round = 0; round < 2; round += 1) {
    expect(await checkResponse('/v1/trial/bearer', bearer)).toEqual({
      ...unavailable,
      code: 'auth_unavailable',
    });
    expect(await checkResponse('/v1/trial/either', { 'x-api-key': key })).toEqual({
      ...unavailable,
      code: 'auth_unavailable',
    });
    const unknownKeyHeaders = { authorization: `Bearer ${generateKey().text}` };
    expect(await checkResponse('/v1/trial/bearer', unknownKeyHeaders)).toEqual({
      ...unavailable,
      code: 'auth_unavailable',
    });
    expect(await checkResponse('/trial/me', { cookie })).toEqual({
      ...unavailable,
      code: 'service_unavailable',
    });
    expect(await checkResponse('/trial/administration', { cookie })).toEqual({
      ...unavailable,
      code: 'service_unavailable',
    });
  }
  expect(await checkResponse('/health')).toMatchObject({ status: 200 });
  expect(await checkResponse('/health/live')).toMatchObject({ status: 200 });
  expect(await checkResponse('/health/ready')).toEqual({ ...unavailable, code: 'service_unavailable' });
  // Pages that need no database keep working, error pages included.
  expect(await checkResponse('/v1/errors/not_found')).toMatchObject({ status: 200 });
  expect(await checkResponse('/v1/trial/bearer', { authorization: 'Bearer nobody' })).toMatchObject({
    status: 401,
  });
  expect(await checkResponse('/trial/me')).toMatchObject({ status: 401 });
});

test('all requests succeed again once the database is back', async () => {
  await proxy.restore();
  expect((await checkResponse('/health/ready')).status).toBe(200);
  expect((await checkResponse('/v1/trial/bearer', { authorization: `Bearer ${key}` })).status).toBe(200);
  expect((await checkResponse('/trial/me', { cookie })).status).toBe(200);
});

test('a dropped database is reported as unavailable as well', async () => {
  await database.drop();
  expect(
    await checkResponse('/v1/trial/bearer', { authorization: `Bearer ${generateKey().text}` }),
  ).toMatchObject({
    status: 503,
    code: 'auth_unavailable',
  });
  expect(await checkResponse('/health/ready')).toMatchObject({ status: 503 });
  expect(await checkResponse('/health')).toMatchObject({ status: 200 });
  expect((await checkResponse('/trial/me', { cookie })).status).toBe(503);
});
