import { isDeepStrictEqual } from 'node:util';
import type { Caller, KeyDirectory } from '../../../src/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type DatabaseProxy, startDatabaseProxy } from '../../support/proxy';
import { addKey, addUser } from '../../support/users';
import { call, apiErrorOf } from './http';
import { RateTrial, RateTrialModule } from './rate-trial.module';
import { until } from '../../support/until';

let database: TestDatabase;
let proxy: DatabaseProxy;
let hereNode: TestApp;
let thereNode: TestApp;
let user: number;
let rootKey: string;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  const commonOptions = { modules: [RateTrialModule], environment: { KEY_PEPPER: 'pepper of both nodes' } };
  hereNode = await startTestApp({ ...commonOptions, sharedDatabase: database });
  thereNode = await startTestApp({ ...commonOptions, sharedDatabase: { ...database, url: proxy.url } });
  rootKey = hereNode.firstKeys?.root ?? '';
  user = await addUser(hereNode);
});
afterAll(async () => {
  await hereNode.close();
  await thereNode.close();
  await proxy.close();
  await database.drop();
});

const keyStatus = async (node: TestApp, key: string): Promise<number> =>
  (await call(node, key, 'GET', '/v1/key')).status;

const createKey = async (): Promise<{ id: string; key: string }> => {
  const { body } = await call<{ id: string; key: string }>(hereNode, rootKey, 'POST', '/v1/manage/keys', {
    name: 'x',
    user_id: user,
  });
  expect(await keyStatus(thereNode, body.key)).toBe(200);
  return body;
};

const directoryOf = (node: TestApp): KeyDirectory => node.application.get(RateTrial).directory;

/** Waits until the other node has seen a later change; changes arrive in order. */
async function waitForChanges(): Promise<void> {
  const { key } = await createKey();
  const { keyId } = await directoryOf(thereNode).authenticate(key);
  await hereNode.database.query('UPDATE api_key SET rate_limit_rpm = 77 WHERE id = $1', [keyId]);
  await until(async () => (await directoryOf(thereNode).authenticate(key)).rateLimitRpm === 77);
}

test('a key revoked on one node is refused on the other', async () => {
  let announcedCount = 0;
  for (let round = 0; round < 20; round += 1) {
    const { id, key } = await createKey();
    await waitForChanges();
    expect(await keyStatus(thereNode, key)).toBe(200);
    let isAnnounced = false;
    const { keyId } = await directoryOf(thereNode).authenticate(key);
    directoryOf(thereNode).onChange(
      (change) => (isAnnounced ||= change?.what === 'key' && change.id === keyId),
    );
    await call(hereNode, rootKey, 'DELETE', `/v1/manage/keys/${id}`);
    expect(await keyStatus(hereNode, key)).toBe(401);
    await until(async () => (await keyStatus(thereNode, key)) === 401);
    if (isAnnounced) announcedCount += 1;
  }
  // The announcement usually arrives before the poll that runs twice a second.
  expect(announcedCount).toBeGreaterThan(10);
});

test.each([
  ['disabled', () => ({ status: 'disabled' })],
  ['past its time', () => ({ expires_at: new Date(Date.now() + 2_000).toISOString() })],
])('a key that is %s on one node is refused on the other', async (_name, change) => {
  const { id, key } = await createKey();
  await call(hereNode, rootKey, 'PATCH', `/v1/manage/keys/${id}`, change());
  await until(async () => (await keyStatus(thereNode, key)) === 401);
});

/** Changes of a key, its owner or its organisation, each with the effect on the caller at the other node. */
const callerChanges: [name: string, sql: string, seen: object][] = [
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
  const [organisation] = await hereNode.database.query<{ id: number }>(
    'INSERT INTO organisation (name, slug) VALUES ($1, $1) RETURNING id',
    [slug],
  );
  const owner = await addUser(hereNode);
  await hereNode.database.query('UPDATE user_account SET organisation_id = $1 WHERE id = $2', [
    organisation?.id,
    owner,
  ]);
  const [project] = await hereNode.database.query<{ id: number }>(
    "INSERT INTO project (name, created_by, organisation_id) VALUES ('p', $1, $2) RETURNING id",
    [owner, organisation?.id],
  );
  const key = await addKey(hereNode, owner);
  await hereNode.database.query('UPDATE api_key SET project_id = $1 WHERE id = $2', [project?.id, key.id]);
  return key;
}

test.each(callerChanges)('a changed %s takes effect on the other node', async (_name, sql, seen) => {
  const key = await ownedKey();
  const callerThere = async (): Promise<Caller> => directoryOf(thereNode).authenticate(key.text);
  expect(await callerThere()).not.toMatchObject(seen);
  await hereNode.database.query(sql, [key.publicId]);
  await until(async () => isDeepStrictEqual({ ...(await callerThere()), ...seen }, await callerThere()));
});

test('unrelated changes do not reload keys', async () => {
  const [before] = await hereNode.database.query<{ revision: string }>('SELECT revision FROM key_revision');
  await hereNode.database.query(
    "UPDATE user_account SET last_seen_at = now(), display_name = 'x', status = status",
  );
  await hereNode.database.query("UPDATE organisation SET name = 'other'");
  expect((await hereNode.database.query('SELECT revision FROM key_revision'))[0]).toEqual(before);
});

test('a known key is authenticated synchronously', async () => {
  const { key } = await createKey();
  const directory = directoryOf(hereNode);
  await directory.authenticate(key);
  // The announcement of a new key can arrive after its first use.
  await until(() => !(directory.authenticate(key) instanceof Promise));
  for (let round = 0; round < 1_000; round += 1)
    expect(directory.authenticate(key)).not.toBeInstanceOf(Promise);
});

test('an open request ends when its key is revoked on another node', async () => {
  const { id, key } = await createKey();
  const { key: other } = await createKey();
  /** Resolves when the response headers arrive; the body is complete when the request ends. */
  const openRequest = (text: string) =>
    fetch(`${thereNode.url}/v1/trial/open`, { headers: { authorization: `Bearer ${text}` } });
  let isOtherOpen = true;
  const revokedText = (await openRequest(key)).text();
  const otherText = (await openRequest(other)).text().finally(() => (isOtherOpen = false));
  await call(hereNode, rootKey, 'DELETE', `/v1/manage/keys/${id}`);
  expect(await revokedText).toBe('open\ninvalid_api_key');
  expect(isOtherOpen).toBe(true);
  await hereNode.database.query("UPDATE user_account SET status = 'suspended' WHERE id = $1", [user]);
  expect(await otherText).toBe('open\naccount_status');
  await hereNode.database.query("UPDATE user_account SET status = 'active' WHERE id = $1", [user]);
});

test('an unreachable database turns cached keys into 503 after a while, never into 401', async () => {
  const { key } = await createKey();
  await waitForChanges();
  expect(await keyStatus(thereNode, key)).toBe(200);
  await proxy.cut();
  try {
    expect(await keyStatus(hereNode, key)).toBe(200);
    const sendTrial = () => call(thereNode, key, 'GET', '/v1/trial/rate');
    expect((await sendTrial()).status).toBe(200);
    await until(async () => (await sendTrial()).status !== 200);
    const answer = await sendTrial();
    expect(apiErrorOf(answer)).toEqual([503, 'auth_unavailable', null]);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  } finally {
    await proxy.restore();
  }
  await until(async () => (await keyStatus(thereNode, key)) === 200);
  const warnings = thereNode.log.filter((line) => line.includes('The register of keys cannot be read'));
  expect(warnings).toHaveLength(1);
});
