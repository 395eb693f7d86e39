import { UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { KeyTransfers } from '#product/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { until } from '../../support/until';
import { openPage, sendJson, submitForm } from '../web/from-page';
import { ask } from '../web/raw-exchange';

interface Person {
  readonly userId: number;
  readonly cookie: string;
}

let database: TestDatabase;
let app: TestApp;
let there: TestApp;
let organisationId: number;
let owner: Person;
let administrator: Person;
let head: Person;
let key: { id: number; publicId: string; text: string };

beforeAll(async () => {
  database = await createTestDatabase();
  const environment = { KEY_PEPPER: 'pepper of both nodes' };
  app = await startTestApp({ environment, sharedDatabase: database });
  there = await startTestApp({ environment, sharedDatabase: database });
  const [row] = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('one', 'one') RETURNING id",
  );
  organisationId = row?.id ?? 0;
  owner = await person('user');
  administrator = await person('org_admin');
  head = await person('org_owner');
  for (const { cookie } of [administrator, head])
    await submitForm({ url: app.url, cookie }, '/dashboard/toggle-admin-mode', {});
});
beforeEach(async () => {
  key = await addKey(app, owner.userId);
});
afterAll(async () => {
  await app.close();
  await there.close();
  await database.drop();
});

async function person(role: UserRole): Promise<Person> {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
}

const path = () => `/dashboard/keys/${key.id}`;
const tell = ({ cookie }: Person, body: object) => sendJson({ url: app.url, cookie }, path(), body);
const page = async ({ cookie }: Person, address = path()) =>
  (await openPage({ url: app.url, cookie }, address)).body;
const answers = async (node = app) =>
  (await ask(node.url, { path: '/v1/key', headers: { authorization: `Bearer ${key.text}` } })).status;
const sql = (statement: string) => app.database.query(statement, [key.id]);
const entries = () =>
  app.database.query<{ action: string; changes: object; reason: string | null }>(
    "SELECT action, changes, reason FROM activity WHERE object_type = 'key' AND object_id = $1 ORDER BY id",
    [String(key.id)],
  );
const refusedRestore = async (who: Person) => {
  const { status, json } = await tell(who, { action: 'restore' });
  return { status, ...(json as { code: string; details?: object }) };
};
const gone = { status: 409, code: 'conflict', details: { reason: 'not-restorable' } };

describe('a key that was revoked', () => {
  test('is restored within a day with the same secret, on every node, and again changes nothing', async () => {
    expect(await answers(there)).toBe(200);
    const revoked = await tell(owner, { action: 'revoke' });
    const { restorable_until: end } = revoked.json as { restorable_until: string };
    const left = Date.parse(end) - Date.now();
    expect(left).toBeGreaterThan(86_000_000);
    expect(left).toBeLessThanOrEqual(86_400_000);
    expect(await answers()).toBe(401);
    await until(async () => (await answers(there)) === 401);
    const restored = await tell(owner, { action: 'restore', reason: 'the wrong one' });
    expect(restored).toMatchObject({
      status: 200,
      json: { status: 'active', revoked_at: null, restorable_until: null },
    });
    expect(await answers()).toBe(200);
    await until(async () => (await answers(there)) === 200);
    expect((await tell(owner, { action: 'restore' })).status).toBe(200);
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

  test('offers it on its page and in the list, with until when', async () => {
    await tell(administrator, { action: 'revoke' });
    const shown = await page(administrator);
    expect(shown).toContain('It can be restored until');
    expect(shown).toContain('<a class="button" href="#key-restore-heading">Restore</a>');
    expect(shown).toContain('value="restore"');
    expect(await page(administrator, '/dashboard/keys')).toContain('Can be restored until');
    const { status } = await submitForm({ url: app.url, cookie: administrator.cookie }, path(), {
      action: 'restore',
      reason: '',
    });
    expect(status).toBe(303);
    expect(await answers()).toBe(200);
    expect(await page(administrator)).not.toContain('value="restore"');
  });

  test('stays paused where it was paused, and a secret that was rotated away stays away', async () => {
    const before = key.text;
    const rotated = await tell(owner, { action: 'rotate', grace_seconds: 3600 });
    key = { ...key, text: (rotated.json as { key: string }).key };
    await tell(owner, { action: 'pause' });
    await tell(owner, { action: 'revoke' });
    expect((await tell(owner, { action: 'restore' })).json).toMatchObject({ status: 'disabled' });
    await tell(owner, { action: 'resume' });
    expect(await answers()).toBe(200);
    key = { ...key, text: before };
    expect(await answers()).toBe(401);
  });
});

describe('others may not restore', () => {
  test('the owner, where an administrator revoked it; and an administrator below the one who did', async () => {
    await tell(head, { action: 'revoke' });
    expect(await tell(owner, { action: 'restore' })).toMatchObject({
      status: 403,
      json: { error: 'An administrator revoked this key: ask them to restore it.' },
    });
    expect(await page(owner)).toContain('only an administrator can restore it');
    expect(await page(owner)).not.toContain('value="restore"');
    expect((await tell(administrator, { action: 'restore' })).status).toBe(403);
    expect(await answers()).toBe(401);
    expect((await tell(head, { action: 'restore' })).status).toBe(200);
  });

  test('a stranger', async () => {
    await tell(owner, { action: 'revoke' });
    expect((await tell(await person('user'), { action: 'restore' })).status).toBe(404);
  });
});

describe('some keys never come back', () => {
  const age = () => sql("UPDATE api_key SET revoked_at = now() - interval '25 hours' WHERE id = $1");

  test('after the day', async () => {
    await tell(owner, { action: 'revoke' });
    await age();
    expect(await refusedRestore(owner)).toMatchObject(gone);
    expect(await page(owner)).not.toContain('value="restore"');
    expect(await answers()).toBe(401);
  });

  test('one that was ended for good, at once or later', async () => {
    await tell(owner, { action: 'revoke', final: true });
    expect(await refusedRestore(owner)).toMatchObject(gone);
    key = await addKey(app, owner.userId);
    await tell(owner, { action: 'revoke' });
    expect((await tell(owner, { action: 'revoke', final: 'perhaps' })).status).toBe(422);
    const form = { action: 'revoke', final: 'on' };
    expect((await submitForm({ url: app.url, cookie: owner.cookie }, path(), form)).status).toBe(303);
    expect(await refusedRestore(owner)).toMatchObject(gone);
  });

  test('one that the operator revoked with the root key, whatever was before', async () => {
    await tell(owner, { action: 'revoke' });
    const root = app.firstKeys?.root ?? '';
    const answer = await ask(app.url, {
      method: 'DELETE',
      path: `/v1/manage/keys/${key.publicId}`,
      headers: { authorization: `Bearer ${root}` },
    });
    expect(answer.status).toBe(200);
    expect(await refusedRestore(owner)).toMatchObject(gone);
  });

  test('one that has expired meanwhile', async () => {
    await tell(owner, { action: 'revoke' });
    await sql('UPDATE api_key SET expires_at = now() WHERE id = $1');
    expect(await refusedRestore(owner)).toMatchObject(gone);
  });

  test.each(['suspended', 'archived', 'deleted'])('one of a person who is %s', async (status) => {
    const other = await person('user');
    key = await addKey(app, other.userId);
    await tell(administrator, { action: 'revoke' });
    await app.database.query('UPDATE user_account SET status = $2 WHERE id = $1', [other.userId, status]);
    expect(await refusedRestore(administrator)).toMatchObject(gone);
  });

  test('one whose place its person has lost since, although they were back', async () => {
    const [project] = await app.database.query<{ id: number }>(
      "INSERT INTO project (organisation_id, name, created_by) VALUES ($1, 'p', $2) RETURNING id",
      [organisationId, owner.userId],
    );
    await app.database.query('UPDATE api_key SET project_id = $2 WHERE id = $1', [key.id, project?.id]);
    await tell(owner, { action: 'revoke' });
    await app.database.transaction(
      (tx) =>
        app.application.get(KeyTransfers, { strict: false }).revokeOfMember(tx, project?.id ?? 0, owner.userId),
      { withoutActivity: 'a test' },
    );
    expect(await refusedRestore(owner)).toMatchObject(gone);
  });

  test('one of a project that is archived', async () => {
    const [project] = await app.database.query<{ id: number }>(
      "INSERT INTO project (organisation_id, name, created_by) VALUES ($1, 'q', $2) RETURNING id",
      [organisationId, owner.userId],
    );
    await app.database.query('UPDATE api_key SET project_id = $2 WHERE id = $1', [key.id, project?.id]);
    await tell(owner, { action: 'revoke' });
    await app.database.query('UPDATE project SET archived_at = now() WHERE id = $1', [project?.id]);
    expect((await tell(owner, { action: 'restore' })).status).toBe(409);
  });
});
