import { ActivityLog, ActivityQuery, systemActor } from '#product/audit';
import { type IssuedKey } from '../../../src/keys';
import { addKey } from '../../support/people';
import { chatRecord, putRecords } from '../../support/records';
import { House, type Person } from '../admin/house';
import { openPage } from '../web/from-page';

/*
 * In the portal a key is known by its number. Beside it stands its id of `/v1/manage`, and pages are found by that too,
 * since links of earlier days have it.
 */

let house: House;
let owner: Person;
let key: IssuedKey;

beforeAll(async () => {
  house = await House.open();
  owner = await house.person('user');
  key = await addKey(house.app, owner.id);
  await putRecords(house.app, [chatRecord(owner.id, key.id)]);
});
afterAll(() => house.close());

const page = (path: string) => openPage({ url: house.app.url, cookie: owner.cookie }, path);
const lastCells = (file: string): [head: string, cells: readonly string[]] => {
  const [head = '', ...lines] = file.trimEnd().split('\r\n');
  return [head.split(',').at(-1) ?? '', lines.map((line) => line.split(',').at(-1) ?? '')];
};

test('a page that is asked for by the text id leads to the one of the number', async () => {
  const former = await page(`/dashboard/keys/${key.publicId}`);
  expect([former.status, former.headers['location']]).toEqual([302, `/dashboard/keys/${key.id}`]);
  const { status, body } = await page(`/dashboard/keys/${key.id}`);
  expect([status, body.includes(`action="/dashboard/keys/${key.id}"`)]).toEqual([200, true]);
  const stranger = await house.person('user');
  for (const id of [key.id, key.publicId, 'AbSeNt00', 999_999_999])
    expect([id, (await house.get(stranger, `/dashboard/keys/${id}`)).status]).toEqual([id, 404]);
  for (const id of ['0', '-1', '1.5', '0x10', 'short', '99999999999'])
    expect([id, (await house.get(owner, `/dashboard/keys/${id}`)).status]).toEqual([id, 422]);
});

test('a change takes the number alone', async () => {
  for (const id of [key.publicId, 'AbSeNt00', '0', '99999999999'])
    expect(await house.post(owner, `/dashboard/keys/${id}`, { name: 'renamed' })).toMatchObject({
      status: 422,
      body: { code: 'validation_error', param: 'key_id' },
    });
  const changed = await house.post(owner, `/dashboard/keys/${key.id}`, { name: 'test' });
  expect([changed.status, changed.body]).toEqual([
    200,
    expect.objectContaining({ id: key.id, key_public_id: key.publicId, object: 'key' }),
  ]);
  expect((await house.post(owner, '/dashboard/autorouter/api-key', { key_id: key.publicId })).status).toBe(
    422,
  );
  const routed = await house.post(owner, '/dashboard/autorouter/api-key', { key_id: key.id, dial: 3 });
  expect(routed.body).toMatchObject({ key_id: key.id, key_public_id: key.publicId });
});

test('a new key and a new secret are told with both ids', async () => {
  const made = await house.post(owner, '/dashboard/keys/new', { name: 'made' });
  const {
    id,
    key_public_id: text,
    key: secret,
  } = made.body as { id: number; key_public_id: string; key: string };
  expect([typeof id, secret.slice(4, 12)]).toEqual(['number', text]);
  const rotated = await house.post(owner, `/dashboard/keys/${id}`, { action: 'rotate' });
  expect(rotated.body).toMatchObject({ id, key_public_id: text });
  const { body: chat } = await house.post(owner, '/api/webchat-key');
  expect(chat).toMatchObject({ id: expect.any(Number), key_public_id: String(chat['key']).slice(4, 12) });
});

test('files have the number, and the text id in their last column', async () => {
  const keys = (await house.get(owner, '/dashboard/keys/export')).text;
  expect(keys).toContain(`\r\n${key.id},test,`);
  const [head, cells] = lastCells(keys);
  expect([head, cells.includes(key.publicId)]).toEqual(['key_public_id', true]);
  for (const path of ['request-log/export', 'usage/export?group_by=key']) {
    const { text } = await house.get(owner, `/dashboard/${path}`);
    expect([path, lastCells(text)]).toEqual([path, ['key_public_id', [key.publicId]]]);
  }
  const { body } = await house.get(owner, '/dashboard/api/usage?group_by=key');
  expect(body['groups']).toMatchObject([{ group: String(key.id), key_public_id: key.publicId }]);
});

test('filters of pages take the number, and for former links the text id', async () => {
  for (const path of ['request-log', 'usage', 'autorouter'])
    for (const id of [key.id, key.publicId])
      expect([path, (await page(`/dashboard/${path}?key=${id}`)).status]).toEqual([path, 200]);
  for (const id of [key.id, key.publicId]) {
    const { text } = await house.get(owner, `/dashboard/request-log/export?key=${id}`);
    expect(lastCells(text)).toEqual(['key_public_id', [key.publicId]]);
  }
  expect((await house.get(owner, `/dashboard/api/usage?key=${key.publicId}`)).status).toBe(422);
  expect((await house.get(owner, `/dashboard/api/usage?key=${key.id}`)).status).toBe(200);
});

test('new entries of the audit log have the number; sealed ones keep their id, and both are told by number', async () => {
  const { database, application } = house.app;
  const platform = await house.person('platform_admin');
  const told = await addKey(house.app, owner.id);
  expect((await house.post(owner, `/dashboard/keys/${told.id}`, { name: 'of the log' })).status).toBe(200);
  // As nodes of the version before write it.
  await database.transaction((tx) =>
    application.get(ActivityLog).write(tx, {
      action: 'key.changed',
      object: { type: 'key', id: told.publicId, label: 'sealed before' },
      concerns: { userId: owner.id },
      actor: systemActor('test'),
    }),
  );
  const stored = await database.query<{ object_id: string }>(
    `SELECT object_id FROM activity WHERE object_label IN ('of the log', 'sealed before') ORDER BY id`,
  );
  expect(stored.map(({ object_id: id }) => id)).toEqual([String(told.id), told.publicId]);
  for (const id of [String(told.id), told.publicId]) {
    const { rows } = await application
      .get(ActivityQuery, { strict: false })
      .page({ kind: 'platform' }, { object: { type: 'key', id }, limit: 10 });
    expect(rows.map(({ object }) => [object.id, object.keyPublicId, object.label])).toEqual([
      [String(told.id), told.publicId, 'sealed before'],
      [String(told.id), told.publicId, 'of the log'],
    ]);
    const { text } = await house.get(platform, `/dashboard/admin/audit/export?type=key&object=${id}`);
    const [head, cells] = lastCells(text);
    expect([id, head, cells]).toEqual([id, 'key_public_id', [told.publicId, told.publicId]]);
    expect(text).toContain(`,key,${told.id},sealed before,`);
  }
  const own = (await page(`/dashboard/keys/${told.id}`)).body;
  expect(own.split('timeline').length).toBeGreaterThan(1);
  expect((await house.get(owner, '/dashboard/activity/export')).text).toContain(
    `,key,${told.id},sealed before,`,
  );
});
