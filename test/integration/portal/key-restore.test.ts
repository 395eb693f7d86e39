import { UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { KeyTransfers } from '#product/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { until } from '../../support/until';
import { openPage, sendJson, submitForm } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';

interface RestoreUser {
  readonly userId: number;
  readonly cookie: string;
}

let database: TestDatabase;
let app: TestApp;
let otherNode: TestApp;
let organisationId: number;
let owner: RestoreUser;
let administrator: RestoreUser;
let organisationOwner: RestoreUser;
let key: { id: number; publicId: string; text: string };

beforeAll(async () => {
  database = await createTestDatabase();
  const environment = { KEY_PEPPER: 'pepper of both nodes' };
  app = await startTestApp({ environment, sharedDatabase: database });
  otherNode = await startTestApp({ environment, sharedDatabase: database });
  const [row] = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('one', 'one') RETURNING id",
  );
  organisationId = row?.id ?? 0;
  owner = await createPerson('user');
  administrator = await createPerson('org_admin');
  organisationOwner = await createPerson('org_owner');
  for (const { cookie } of [administrator, organisationOwner])
    await submitForm({ url: app.url, cookie }, '/dashboard/toggle-admin-mode', {});
});
beforeEach(async () => {
  key = await addKey(app, owner.userId);
});
afterAll(async () => {
  await app.close();
  await otherNode.close();
  await database.drop();
});

async function createPerson(role: UserRole): Promise<RestoreUser> {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
}

const path = () => `/dashboard/keys/${key.id}`;
const postToKey = ({ cookie }: RestoreUser, body: object) => sendJson({ url: app.url, cookie }, path(), body);
const page = async ({ cookie }: RestoreUser, address = path()) =>
  (await openPage({ url: app.url, cookie }, address)).body;
const keyStatus = async (node = app) =>
  (await sendRaw(node.url, { path: '/v1/key', headers: { authorization: `Bearer ${key.text}` } })).status;
const sql = (statement: string) => app.database.query(statement, [key.id]);
const entries = () =>
  app.database.query<{ action: string; changes: object; reason: string | null }>(
    "SELECT action, changes, reason FROM activity WHERE object_type = 'key' AND object_id = $1 ORDER BY id",
    [String(key.id)],
  );
const attemptRestore = async (user: RestoreUser) => {
  const { status, json } = await postToKey(user, { action: 'restore' });
  return { status, ...(json as { code: string; details?: object }) };
};
const notRestorable = { status: 409, code: 'conflict', details: { reason: 'not-restorable' } };

describe('A revoked key', () => {
  test('is restored within a day with the same secret on every node, and a second restore changes nothing', async () => {
    expect(await keyStatus(otherNode)).toBe(200);
    const revokeResponse = await postToKey(owner, { action: 'revoke' });
    const { restorable_until: end } = revokeResponse.json as { restorable_until: string };
    const remainingMs = Date.parse(end) - Date.now();
    expect(remainingMs).toBeGreaterThan(86_000_000);
    expect(remainingMs).toBeLessThanOrEqual(86_400_000);
    expect(await keyStatus()).toBe(401);
    await until(async () => (await keyStatus(otherNode)) === 401);
    const restoreResponse = await postToKey(owner, { action: 'restore', reason: 'the wrong one' });
    expect(restoreResponse).toMatchObject({
      status: 200,
      json: { status: 'active', revoked_at: null, restorable_until: null },
    });
    expect(await keyStatus()).toBe(200);
    await until(async () => (await keyStatus(otherNode)) === 200);
    expect((await postToKey(owner, { action: 'restore' })).status).toBe(200);
    expect(await entries()).toEqual([
      {
        action: 'key.revoked',
        changes: { status: ['active', 'revoked'], restorable_until: [null, end] },
        reason: null,
      },
      {
        action: 'key.restored',
        changes: { status: ['revoked', 'active'], restorable_until: [end, null] },
        reason: 'the wrong one',
      },
    ]);
  });

  test('offers the restore on its page and in the list, with the deadline', async () => {
    await postToKey(administrator, { action: 'revoke' });
    const adminPage = await page(administrator);
    expect(adminPage).toContain('It can be restored until');
    expect(adminPage).toContain('<a class="button" href="#key-restore-heading">Restore</a>');
    expect(adminPage).toContain('value="restore"');
    expect(await page(administrator, '/dashboard/keys')).toContain('Can be restored until');
    const { status } = await submitForm({ url: app.url, cookie: administrator.cookie }, path(), {
      action: 'restore',
      reason: '',
    });
    expect(status).toBe(303);
    expect(await keyStatus()).toBe(200);
    expect(await page(administrator)).not.toContain('value="restore"');
  });

  test('stays paused if it was paused, and a rotated secret stays invalid', async () => {
    const formerSecret = key.text;
    const rotateResponse = await postToKey(owner, { action: 'rotate', grace_seconds: 3600 });
    key = { ...key, text: (rotateResponse.json as { key: string }).key };
    await postToKey(owner, { action: 'pause' });
    await postToKey(owner, { action: 'revoke' });
    expect((await postToKey(owner, { action: 'restore' })).json).toMatchObject({ status: 'disabled' });
    await postToKey(owner, { action: 'resume' });
    expect(await keyStatus()).toBe(200);
    key = { ...key, text: formerSecret };
    expect(await keyStatus()).toBe(401);
  });
});

describe('Users who cannot restore a key', () => {
  test('an owner cannot restore after an administrator, nor an administrator after a superior', async () => {
    await postToKey(organisationOwner, { action: 'revoke' });
    expect(await postToKey(owner, { action: 'restore' })).toMatchObject({
      status: 403,
      json: { error: 'An administrator revoked this key: ask them to restore it.' },
    });
    expect(await page(owner)).toContain('only an administrator can restore it');
    expect(await page(owner)).not.toContain('value="restore"');
    expect((await postToKey(administrator, { action: 'restore' })).status).toBe(403);
    expect(await keyStatus()).toBe(401);
    expect((await postToKey(organisationOwner, { action: 'restore' })).status).toBe(200);
  });

  test('an administrator of another organisation cannot restore', async () => {
    await postToKey(owner, { action: 'revoke' });
    expect((await postToKey(await createPerson('user'), { action: 'restore' })).status).toBe(404);
  });
});

describe('Keys that cannot be restored', () => {
  const ageRevocation = () =>
    sql("UPDATE api_key SET revoked_at = now() - interval '25 hours' WHERE id = $1");

  test('a key cannot be restored after one day', async () => {
    await postToKey(owner, { action: 'revoke' });
    await ageRevocation();
    expect(await attemptRestore(owner)).toMatchObject(notRestorable);
    expect(await page(owner)).not.toContain('value="restore"');
    expect(await keyStatus()).toBe(401);
  });

  test('a permanently revoked key cannot be restored, whether revoked so immediately or later', async () => {
    await postToKey(owner, { action: 'revoke', final: true });
    expect(await attemptRestore(owner)).toMatchObject(notRestorable);
    key = await addKey(app, owner.userId);
    await postToKey(owner, { action: 'revoke' });
    expect((await postToKey(owner, { action: 'revoke', final: 'perhaps' })).status).toBe(422);
    const form = { action: 'revoke', final: 'on' };
    expect((await submitForm({ url: app.url, cookie: owner.cookie }, path(), form)).status).toBe(303);
    expect(await attemptRestore(owner)).toMatchObject(notRestorable);
  });

  test('a key revoked by the operator with the root key cannot be restored', async () => {
    await postToKey(owner, { action: 'revoke' });
    const rootKey = app.firstKeys?.root ?? '';
    const answer = await sendRaw(app.url, {
      method: 'DELETE',
      path: `/v1/manage/keys/${key.publicId}`,
      headers: { authorization: `Bearer ${rootKey}` },
    });
    expect(answer.status).toBe(200);
    expect(await attemptRestore(owner)).toMatchObject(notRestorable);
  });

  test('an expired key cannot be restored', async () => {
    await postToKey(owner, { action: 'revoke' });
    await sql('UPDATE api_key SET expires_at = now() WHERE id = $1');
    expect(await attemptRestore(owner)).toMatchObject(notRestorable);
  });

  test.each(['suspended', 'archived', 'deleted'])(
    'a key of a user who is %s cannot be restored',
    async (status) => {
      const otherUser = await createPerson('user');
      key = await addKey(app, otherUser.userId);
      await postToKey(administrator, { action: 'revoke' });
      await app.database.query('UPDATE user_account SET status = $2 WHERE id = $1', [
        otherUser.userId,
        status,
      ]);
      expect(await attemptRestore(administrator)).toMatchObject(notRestorable);
    },
  );

  test('a key cannot be restored after its user lost the membership, even if they rejoined', async () => {
    const [project] = await app.database.query<{ id: number }>(
      "INSERT INTO project (organisation_id, name, created_by) VALUES ($1, 'p', $2) RETURNING id",
      [organisationId, owner.userId],
    );
    await app.database.query('UPDATE api_key SET project_id = $2 WHERE id = $1', [key.id, project?.id]);
    await postToKey(owner, { action: 'revoke' });
    await app.database.transaction(
      (tx) =>
        app.application
          .get(KeyTransfers, { strict: false })
          .revokeOfMember(tx, project?.id ?? 0, owner.userId),
      { withoutActivity: 'a test' },
    );
    expect(await attemptRestore(owner)).toMatchObject(notRestorable);
  });

  test('a key of an archived project cannot be restored', async () => {
    const [project] = await app.database.query<{ id: number }>(
      "INSERT INTO project (organisation_id, name, created_by) VALUES ($1, 'q', $2) RETURNING id",
      [organisationId, owner.userId],
    );
    await app.database.query('UPDATE api_key SET project_id = $2 WHERE id = $1', [key.id, project?.id]);
    await postToKey(owner, { action: 'revoke' });
    await app.database.query('UPDATE project SET archived_at = now() WHERE id = $1', [project?.id]);
    expect((await postToKey(owner, { action: 'restore' })).status).toBe(409);
  });
});
