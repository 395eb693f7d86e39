import { isDeepStrictEqual } from 'node:util';
import type { Caller, KeyDirectory } from '../../../src/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Proxy, proxyTo } from '../../support/proxy';
import { addKey, addUser } from '../../support/people';
import { call, refusalOf } from './http';
import { RateTrial, RateTrialModule } from './rate-trial.module';
import { until } from '../../support/until';

let database: TestDatabase;
let proxy: Proxy;
let here: TestApp;
let there: TestApp;
let user: number;
let root: string;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await proxyTo(database.url);
  const common = { modules: [RateTrialModule], environment: { KEY_PEPPER: 'pepper of both nodes' } };
  here = await startTestApp({ ...common, sharedDatabase: database });
  there = await startTestApp({ ...common, sharedDatabase: { ...database, url: proxy.url } });
  root = here.firstKeys?.root ?? '';
  user = await addUser(here);
});
afterAll(async () => {
  await here.close();
  await there.close();
  await proxy.close();
  await database.drop();
});

const own = async (node: TestApp, key: string): Promise<number> =>
  (await call(node, key, 'GET', '/v1/key')).status;

const fresh = async (): Promise<{ id: string; key: string }> => {
  const { body } = await call<{ id: string; key: string }>(here, root, 'POST', '/v1/manage/keys', {
    name: 'x',
    user_id: user,
  });
  expect(await own(there, body.key)).toBe(200);
  return body;
};

const directoryOf = (node: TestApp): KeyDirectory => node.application.get(RateTrial).directory;

/** Changes are heard in their order: when the other node knows a later one, it knows all until now. */
async function caughtUp(): Promise<void> {
  const { key } = await fresh();
  const { keyId } = await directoryOf(there).authenticate(key);
  await here.database.query('UPDATE api_key SET rate_limit_rpm = 77 WHERE id = $1', [keyId]);
  await until(async () => (await directoryOf(there).authenticate(key)).rateLimitRpm === 77);
}

test('a key that is revoked here is refused there, every time', async () => {
  let announced = 0;
  for (let round = 0; round < 20; round += 1) {
    const { id, key } = await fresh();
    await caughtUp();
    expect(await own(there, key)).toBe(200);
    let told = false;
    const { keyId } = await directoryOf(there).authenticate(key);
    directoryOf(there).onChange((change) => (told ||= change?.what === 'key' && change.id === keyId));
    await call(here, root, 'DELETE', `/v1/manage/keys/${id}`);
    expect(await own(here, key)).toBe(401);
    await until(async () => (await own(there, key)) === 401);
    if (told) announced += 1;
  }
  // The announcement, not the look twice a second, is what tells the other node; the look may be first at times.
  expect(announced).toBeGreaterThan(10);
});

test.each([
  ['disabled', () => ({ status: 'disabled' })],
  ['past its time', () => ({ expires_at: new Date(Date.now() + 2_000).toISOString() })],
])('a key that is %s here is refused there', async (_name, change) => {
  const { id, key } = await fresh();
  await call(here, root, 'PATCH', `/v1/manage/keys/${id}`, change());
  await until(async () => (await own(there, key)) === 401);
});

/** Each change of a key, its owner or what they belong to alters the caller that the other node sees. */
const standing: [name: string, sql: string, seen: object][] = [
  ['rate', 'UPDATE api_key SET rate_limit_rpm = 77 WHERE public_id = $1', { rateLimitRpm: 77 }],
  [
    'regions of the organisation',
    `UPDATE organisation SET allowed_regions = '{eu}' WHERE id =
       (SELECT u.organisation_id FROM user_account u JOIN api_key k ON k.user_id = u.id WHERE k.public_id = $1)`,
    { allowedRegions: new Set(['eu']) },
  ],
  [
    'payer of the organisation',
    `UPDATE organisation SET billing_user_id = 1 WHERE id =
       (SELECT u.organisation_id FROM user_account u JOIN api_key k ON k.user_id = u.id WHERE k.public_id = $1)`,
    { payerId: 1 },
  ],
  [
    'delegate of the owner',
    'UPDATE user_account SET delegate_user_id = 1 WHERE id = (SELECT user_id FROM api_key WHERE public_id = $1)',
    { payerId: 1 },
  ],
  [
    'exemption of the payer',
    'UPDATE user_account SET billing_exempt = false WHERE id = (SELECT user_id FROM api_key WHERE public_id = $1)',
    { billingExempt: false },
  ],
  [
    'payer of the project',
    'UPDATE project SET billing_user_id = 1 WHERE id = (SELECT project_id FROM api_key WHERE public_id = $1)',
    { payerId: 1 },
  ],
];

async function ownedKey(): Promise<{ publicId: string; text: string }> {
  const slug = `o${Math.random().toString(36).slice(2)}`;
  const [organisation] = await here.database.query<{ id: number }>(
    'INSERT INTO organisation (name, slug) VALUES ($1, $1) RETURNING id',
    [slug],
  );
  const owner = await addUser(here);
  await here.database.query('UPDATE user_account SET organisation_id = $1 WHERE id = $2', [
    organisation?.id,
    owner,
  ]);
  const [project] = await here.database.query<{ id: number }>(
    "INSERT INTO project (name, created_by, organisation_id) VALUES ('p', $1, $2) RETURNING id",
    [owner, organisation?.id],
  );
  const key = await addKey(here, owner);
  await here.database.query('UPDATE api_key SET project_id = $1 WHERE id = $2', [project?.id, key.id]);
  return key;
}

test.each(standing)('another %s is in force there', async (_name, sql, seen) => {
  const key = await ownedKey();
  const callerThere = async (): Promise<Caller> => directoryOf(there).authenticate(key.text);
  expect(await callerThere()).not.toMatchObject(seen);
  await here.database.query(sql, [key.publicId]);
  await until(async () => isDeepStrictEqual({ ...(await callerThere()), ...seen }, await callerThere()));
});

test('a change that does not concern keys leaves them alone', async () => {
  const [before] = await here.database.query<{ revision: string }>('SELECT revision FROM key_revision');
  await here.database.query(
    "UPDATE user_account SET last_seen_at = now(), display_name = 'x', status = status",
  );
  await here.database.query("UPDATE organisation SET name = 'other'");
  expect((await here.database.query('SELECT revision FROM key_revision'))[0]).toEqual(before);
});

test('known keys are told apart without a promise', async () => {
  const { key } = await fresh();
  const directory = directoryOf(here);
  await directory.authenticate(key);
  // The announcement of a new key may arrive after its first use.
  await until(() => !(directory.authenticate(key) instanceof Promise));
  for (let round = 0; round < 1_000; round += 1)
    expect(directory.authenticate(key)).not.toBeInstanceOf(Promise);
});

test('a call that is open ends when its key is revoked elsewhere', async () => {
  const { id, key } = await fresh();
  const { key: other } = await fresh();
  /** Answers once the call is open; its text is there when it has ended. */
  const open = (text: string) =>
    fetch(`${there.url}/v1/trial/open`, { headers: { authorization: `Bearer ${text}` } });
  let untouched = true;
  const ends = (await open(key)).text();
  const stays = (await open(other)).text().finally(() => (untouched = false));
  await call(here, root, 'DELETE', `/v1/manage/keys/${id}`);
  expect(await ends).toBe('open\ninvalid_api_key');
  expect(untouched).toBe(true);
  await here.database.query("UPDATE user_account SET status = 'suspended' WHERE id = $1", [user]);
  expect(await stays).toBe('open\naccount_status');
  await here.database.query("UPDATE user_account SET status = 'active' WHERE id = $1", [user]);
});

test('with the database out of reach nobody is believed for long, and nobody is called invalid', async () => {
  const { key } = await fresh();
  await caughtUp();
  expect(await own(there, key)).toBe(200);
  await proxy.cut();
  try {
    expect(await own(here, key)).toBe(200);
    const ask = () => call(there, key, 'GET', '/v1/trial/rate');
    expect((await ask()).status).toBe(200);
    await until(async () => (await ask()).status !== 200);
    const answer = await ask();
    expect(refusalOf(answer)).toEqual([503, 'auth_unavailable', null]);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  } finally {
    await proxy.restore();
  }
  await until(async () => (await own(there, key)) === 200);
  const warnings = there.log.filter((line) => line.includes('The register of keys cannot be read'));
  expect(warnings).toHaveLength(1);
});
