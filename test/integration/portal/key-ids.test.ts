import { ActivityLog, ActivityQuery, systemActor } from '#product/audit';
import { type IssuedKey } from '../../../src/keys';
import { addKey } from '../../support/users';
import { createChatRecord, storeRecords } from '../../support/records';
import { PortalFixture, type Person } from '../admin/portal-fixture';
import { openPage } from '../web/page-requests';

/*
 * The portal identifies a key by its number and shows its `/v1/manage` id as well. Older links use that id, so pages
 * accept both.
 */

let fixture: PortalFixture;
let owner: Person;
let key: IssuedKey;

beforeAll(async () => {
  fixture = await PortalFixture.open();
  owner = await fixture.person('user');
  key = await addKey(fixture.app, owner.id);
  await storeRecords(fixture.app, [createChatRecord(owner.id, key.id)]);
});
afterAll(() => fixture.close());

const page = (path: string) => openPage({ url: fixture.app.url, cookie: owner.cookie }, path);
const lastCells = (file: string): [head: string, cells: readonly string[]] => {
  const [head = '', ...lines] = file.trimEnd().split('\r\n');
  return [head.split(',').at(-1) ?? '', lines.map((line) => line.split(',').at(-1) ?? '')];
};

test('a page addressed by the text id redirects to the numeric id', async () => {
  const redirect = await page(`/dashboard/keys/${key.publicId}`);
  expect([redirect.status, redirect.headers['location']]).toEqual([302, `/dashboard/keys/${key.id}`]);
  const { status, body } = await page(`/dashboard/keys/${key.id}`);
  expect([status, body.includes(`action="/dashboard/keys/${key.id}"`)]).toEqual([200, true]);
  const stranger = await fixture.person('user');
  for (const id of [key.id, key.publicId, 'AbSeNt00', 999_999_999])
    expect([id, (await fixture.get(stranger, `/dashboard/keys/${id}`)).status]).toEqual([id, 404]);
  for (const id of ['0', '-1', '1.5', '0x10', 'short', '99999999999'])
    expect([id, (await fixture.get(owner, `/dashboard/keys/${id}`)).status]).toEqual([id, 422]);
});

test('a change accepts only the numeric id', async () => {
  for (const id of [key.publicId, 'AbSeNt00', '0', '99999999999'])
    expect(await fixture.post(owner, `/dashboard/keys/${id}`, { name: 'renamed' })).toMatchObject({
      status: 422,
      body: { code: 'validation_error', param: 'key_id' },
    });
  const changeResponse = await fixture.post(owner, `/dashboard/keys/${key.id}`, { name: 'test' });
  expect([changeResponse.status, changeResponse.body]).toEqual([
    200,
    expect.objectContaining({ id: key.id, key_public_id: key.publicId, object: 'key' }),
  ]);
  expect((await fixture.post(owner, '/dashboard/autorouter/api-key', { key_id: key.publicId })).status).toBe(
    422,
  );
  const routingResponse = await fixture.post(owner, '/dashboard/autorouter/api-key', {
    key_id: key.id,
    dial: 3,
  });
  expect(routingResponse.body).toMatchObject({ key_id: key.id, key_public_id: key.publicId });
});

test('responses for a new key and a new secret contain both ids', async () => {
  const createResponse = await fixture.post(owner, '/dashboard/keys/new', { name: 'made' });
  const {
    id,
    key_public_id: text,
    key: secret,
  } = createResponse.body as { id: number; key_public_id: string; key: string };
  expect([typeof id, secret.slice(4, 12)]).toEqual(['number', text]);
  const rotateResponse = await fixture.post(owner, `/dashboard/keys/${id}`, { action: 'rotate' });
  expect(rotateResponse.body).toMatchObject({ id, key_public_id: text });
  const { body: chat } = await fixture.post(owner, '/api/webchat-key');
  expect(chat).toMatchObject({ id: expect.any(Number), key_public_id: String(chat['key']).slice(4, 12) });
});

test('exported files contain the number, and the text id in the last column', async () => {
  const keys = (await fixture.get(owner, '/dashboard/keys/export')).text;
  expect(keys).toContain(`\r\n${key.id},test,`);
  const [head, cells] = lastCells(keys);
  expect([head, cells.includes(key.publicId)]).toEqual(['key_public_id', true]);
  for (const path of ['request-log/export', 'usage/export?group_by=key']) {
    const { text } = await fixture.get(owner, `/dashboard/${path}`);
    expect([path, lastCells(text)]).toEqual([path, ['key_public_id', [key.publicId]]]);
  }
  const { body } = await fixture.get(owner, '/dashboard/api/usage?group_by=key');
  expect(body['groups']).toMatchObject([{ group: String(key.id), key_public_id: key.publicId }]);
});

test('page filters accept the number and, for older links, the text id', async () => {
  for (const path of ['request-log', 'usage', 'autorouter'])
    for (const id of [key.id, key.publicId])
      expect([path, (await page(`/dashboard/${path}?key=${id}`)).status]).toEqual([path, 200]);
  for (const id of [key.id, key.publicId]) {
    const { text } = await fixture.get(owner, `/dashboard/request-log/export?key=${id}`);
    expect(lastCells(text)).toEqual(['key_public_id', [key.publicId]]);
  }
  expect((await fixture.get(owner, `/dashboard/api/usage?key=${key.publicId}`)).status).toBe(422);
  expect((await fixture.get(owner, `/dashboard/api/usage?key=${key.id}`)).status).toBe(200);
});

test('new audit log entries store the number; sealed entries keep their text id, and both are shown by number', async () => {
  const { database, application } = fixture.app;
  const platform = await fixture.person('platform_admin');
  const auditedKey = await addKey(fixture.app, owner.id);
  expect((await fixture.post(owner, `/dashboard/keys/${auditedKey.id}`, { name: 'of the log' })).status).toBe(
    200,
  );
  // An entry as the previous version writes it.
  await database.transaction((tx) =>
    application.get(ActivityLog).write(tx, {
      action: 'key.changed',
      object: { type: 'key', id: auditedKey.publicId, label: 'sealed before' },
      concerns: { userId: owner.id },
      actor: systemActor('test'),
    }),
  );
  const stored = await database.query<{ object_id: string }>(
    `SELECT object_id FROM activity WHERE object_label IN ('of the log', 'sealed before') ORDER BY id`,
  );
  expect(stored.map(({ object_id: id }) => id)).toEqual([String(auditedKey.id), auditedKey.publicId]);
  for (const id of [String(auditedKey.id), auditedKey.publicId]) {
    const { rows } = await application
      .get(ActivityQuery, { strict: false })
      .page({ kind: 'platform' }, { object: { type: 'key', id }, limit: 10 });
    expect(rows.map(({ object }) => [object.id, object.keyPublicId, object.label])).toEqual([
      [String(auditedKey.id), auditedKey.publicId, 'sealed before'],
      [String(auditedKey.id), auditedKey.publicId, 'of the log'],
    ]);
    const { text } = await fixture.get(platform, `/dashboard/admin/audit/export?type=key&object=${id}`);
    const [head, cells] = lastCells(text);
    expect([id, head, cells]).toEqual([id, 'key_public_id', [auditedKey.publicId, auditedKey.publicId]]);
    expect(text).toContain(`,key,${auditedKey.id},sealed before,`);
  }
  const ownPage = (await page(`/dashboard/keys/${auditedKey.id}`)).body;
  expect(ownPage.split('timeline').length).toBeGreaterThan(1);
  expect((await fixture.get(owner, '/dashboard/activity/export')).text).toContain(
    `,key,${auditedKey.id},sealed before,`,
  );
});
