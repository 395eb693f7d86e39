import { Limits } from '#product/billing';
import { Organisation, UserAccount } from '#product/identity';
import { parseUsd, type UserRole } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { parseForms } from '../../support/page-forms';
import { createChatRecord, storeRecords } from '../../support/records';
import { addKey, addUser, signIn } from '../../support/users';
import { openPage, sendJson, submitForm } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';
import { until } from '../../support/until';

interface KeyUser {
  readonly userId: number;
  readonly cookie: string;
}

let app: TestApp;
let owner: KeyUser;
let administrator: KeyUser;
let organisationOwner: KeyUser;
let otherAdministrator: KeyUser;
let key: { id: number; publicId: string; text: string };

beforeAll(async () => {
  app = await startTestApp();
  const [own, other] = [await createOrganisation('one'), await createOrganisation('two')];
  owner = await createPerson('user', own);
  administrator = await createPerson('org_admin', own);
  organisationOwner = await createPerson('org_owner', own);
  otherAdministrator = await createPerson('org_admin', other);
  for (const { cookie } of [administrator, organisationOwner, otherAdministrator])
    await enterAdminView(cookie);
});
beforeEach(async () => {
  key = await addKey(app, owner.userId);
});
afterAll(() => app.close());

async function createOrganisation(name: string): Promise<number> {
  const repository = app.database.source.getRepository(Organisation);
  const row = repository.create({ name, slug: name });
  await repository.insert(row);
  return row.id;
}

async function createPerson(role: UserRole, organisationId: number): Promise<KeyUser> {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
}

const organisationOf = async ({ userId }: KeyUser): Promise<number> =>
  (await app.database.source.getRepository(UserAccount).findOneByOrFail({ id: userId })).organisationId ?? 0;

async function enterAdminView(cookie: string): Promise<void> {
  const answer = await send('/dashboard/toggle-admin-mode', {}, cookie);
  expect(answer.status).toBeLessThan(400);
}

const send = (path: string, form: Record<string, string>, cookie: string) =>
  submitForm({ url: app.url, cookie }, path, form);
const page = async ({ cookie }: KeyUser) =>
  (await openPage({ url: app.url, cookie }, `/dashboard/keys/${key.id}`)).body;
const postToKey = ({ cookie }: KeyUser, body: object) =>
  sendJson({ url: app.url, cookie }, `/dashboard/keys/${key.id}`, body);
const nameOf = async ({ userId }: KeyUser) =>
  (await app.database.source.getRepository(UserAccount).findOneByOrFail({ id: userId })).displayName;
const keyActions = async () =>
  (
    await app.database.query<{ action: string }>(
      "SELECT action FROM activity WHERE object_type = 'key' AND object_id = $1 ORDER BY id",
      [String(key.id)],
    )
  ).map(({ action }) => action);
const keyStatus = async () =>
  (await sendRaw(app.url, { path: '/v1/key', headers: { authorization: `Bearer ${key.text}` } })).status;

test('administrators are asked for a reason when they pause, resume, limit or revoke a key', async () => {
  const reasonFields = async (person: KeyUser): Promise<(string | undefined)[]> =>
    parseForms(await page(person)).flatMap(({ fields }) =>
      fields.some(({ name }) => name === 'reason')
        ? fields.filter(({ name }) => name === 'action').map(({ value }) => value)
        : [],
    );
  expect((await reasonFields(administrator)).sort()).toEqual(['pause', 'revoke', 'save']);
  expect(await reasonFields(owner)).toEqual(['revoke']);
  await postToKey(administrator, { action: 'pause' });
  expect(await reasonFields(administrator)).toContain('resume');
});

describe('Pausing a key', () => {
  test("an administrator's pause cannot be lifted by the owner, who sees who paused it and why", async () => {
    expect((await postToKey(administrator, { action: 'pause', reason: 'Leaked in a log.' })).status).toBe(
      200,
    );
    expect(await keyStatus()).toBe(401);
    const ownerPage = await page(owner);
    expect(ownerPage).toContain(`${await nameOf(administrator)} paused this key`);
    expect(ownerPage).toContain('Leaked in a log.');
    expect(ownerPage).not.toContain('value="resume"');
    expect(await postToKey(owner, { action: 'resume' })).toMatchObject({
      status: 403,
      json: { error: 'An administrator paused this key: ask them to resume it.' },
    });
    expect(await postToKey(owner, { action: 'save', status: 'active' })).toMatchObject({ status: 403 });
    expect(await keyStatus()).toBe(401);
    expect((await postToKey(administrator, { action: 'resume' })).status).toBe(200);
    expect(await keyStatus()).toBe(200);
    expect(await page(owner)).not.toContain('paused this key');
    expect(await keyActions()).toEqual(['key.disabled', 'key.enabled']);
  });

  test("an owner's pause can be lifted by the owner", async () => {
    expect((await postToKey(owner, { action: 'pause' })).status).toBe(200);
    expect((await postToKey(owner, { action: 'resume' })).status).toBe(200);
    expect(await keyStatus()).toBe(200);
  });

  test('an administrator of another organisation gets 404 for every action', async () => {
    for (const action of ['pause', 'revoke', 'raise', 'save'])
      expect((await postToKey(otherAdministrator, { action, name: 'x' })).status).toBe(404);
    expect(await keyStatus()).toBe(200);
  });

  test('a key revoked by an administrator stays revoked', async () => {
    expect((await postToKey(administrator, { action: 'revoke', reason: 'Left the house.' })).status).toBe(
      200,
    );
    expect(await keyStatus()).toBe(401);
  });
});

test('an administrator must type the name to revoke a key in use, but not an unused key, and its owner need not', async () => {
  const path = `/dashboard/keys/${key.id}`;
  expect(await page(administrator)).not.toContain('name="confirmation"');
  await storeRecords(app, [createChatRecord(owner.userId, key.id), createChatRecord(owner.userId, key.id)]);
  const adminPage = await page(administrator);
  expect(adminPage).toContain('It was used for 2 requests in the last 24 hours.');
  expect(adminPage).toMatch(/<label for="revoke-name">Type “test” to confirm/);
  expect(await page(owner)).not.toContain('name="confirmation"');
  for (const confirmation of ['', 'other']) {
    const refusal = await send(path, { action: 'revoke', confirmation, _page: path }, administrator.cookie);
    expect([refusal.status, refusal.body.includes('Type “test” to confirm.')]).toEqual([409, true]);
  }
  expect(await keyStatus()).toBe(200);
  expect((await send(path, { action: 'revoke', confirmation: 'test' }, administrator.cookie)).status).toBe(
    303,
  );
  expect(await keyStatus()).toBe(401);
});

test('limits locked by an administrator can be changed by administrators only, but the name stays editable', async () => {
  const limits = { rate_limit_rpm: 9, rate_limit_tpm: 5_000, max_parallel: 3, budget_limit: 2 };
  const saveResponse = await postToKey(administrator, { ...limits, limits_locked: true });
  expect(saveResponse).toMatchObject({
    status: 200,
    json: { ...limits, limits_locked: { by: await nameOf(administrator) } },
  });
  expect(await page(owner)).toContain('set the limits of this key');
  for (const change of [
    { rate_limit_tpm: null },
    { budget_limit: 3 },
    { limits_locked: false },
    { max_parallel: 4 },
  ])
    expect((await postToKey(owner, change)).status).toBe(403);
  expect((await postToKey(owner, { name: 'mine', rate_limit_rpm: 9 })).status).toBe(200);
  expect((await postToKey(administrator, { limits_locked: false })).status).toBe(200);
  expect((await postToKey(owner, { rate_limit_tpm: null })).status).toBe(200);
});

describe('Decisions of a superior', () => {
  const limits = { budget_limit: 2, limits_locked: true };

  test('bind an administrator for their own key, also in the admin view', async () => {
    key = await addKey(app, administrator.userId);
    expect((await postToKey(administrator, { action: 'rotate' })).status).toBe(200);
    await postToKey(organisationOwner, limits);
    await postToKey(organisationOwner, { action: 'pause', reason: 'Leaked in a log.' });
    for (const change of [
      { action: 'resume' },
      { status: 'active' },
      { limits_locked: false },
      { budget_limit: 900 },
      { action: 'raise', raise_amount: '5', raise_until: '2999-01-01T00:00:00Z', reason: 'Mine.' },
    ])
      expect([change, (await postToKey(administrator, change)).status]).toEqual([change, 403]);
    const adminPage = await page(administrator);
    for (const hiddenControl of ['value="resume"', 'name="limits_locked"', 'name="budget_limit"'])
      expect(adminPage).not.toContain(hiddenControl);
    expect((await postToKey(organisationOwner, { action: 'resume' })).status).toBe(200);
    expect((await postToKey(organisationOwner, { limits_locked: false })).status).toBe(200);
    expect((await postToKey(administrator, { budget_limit: 3 })).status).toBe(200);
  });

  test("on another user's key can be changed only by the same rank", async () => {
    await postToKey(organisationOwner, limits);
    await postToKey(organisationOwner, { action: 'pause' });
    expect(await postToKey(administrator, { action: 'resume' })).toMatchObject({
      status: 403,
      json: { error: expect.stringContaining('above yours') as string },
    });
    for (const change of [{ limits_locked: false }, { budget_limit: 900 }])
      expect((await postToKey(administrator, change)).status).toBe(403);
    const adminPage = await page(administrator);
    expect(adminPage).not.toContain('value="resume"');
    expect(adminPage).not.toContain('name="budget_limit"');
    const secondOwner = await createPerson('org_owner', await organisationOf(organisationOwner));
    await enterAdminView(secondOwner.cookie);
    expect((await postToKey(secondOwner, { action: 'resume' })).status).toBe(200);
    expect((await postToKey(administrator, { action: 'revoke' })).status).toBe(200);
  });

  test('do not include a lock that an administrator set on their own key', async () => {
    key = await addKey(app, administrator.userId);
    await app.database.query(
      'UPDATE api_key SET limits_locked_by = $2, limits_locked_at = now() WHERE id = $1',
      [key.id, administrator.userId],
    );
    expect((await postToKey(administrator, { budget_limit: 3, limits_locked: false })).status).toBe(200);
  });
});

describe("The secret of a user's key", () => {
  test('cannot be rotated by administrators', async () => {
    for (const otherUser of [administrator, organisationOwner]) {
      expect(await postToKey(otherUser, { action: 'rotate' })).toMatchObject({
        status: 403,
        json: { error: 'Only the owner of this key may rotate it; revoke it instead.' },
      });
      expect(await page(otherUser)).not.toContain('value="rotate"');
    }
    expect(await keyStatus()).toBe(200);
    expect(await page(owner)).toContain('value="rotate"');
    expect((await postToKey(owner, { action: 'rotate' })).status).toBe(200);
    const platformOwner = await createPerson('platform_owner', await organisationOf(organisationOwner));
    await enterAdminView(platformOwner.cookie);
    key = await addKey(app, platformOwner.userId);
    expect((await postToKey(platformOwner, { action: 'rotate' })).status).toBe(200);
  });

  test('can be rotated by administrators if the key has no user', async () => {
    await app.database.query('UPDATE api_key SET user_id = NULL, organisation_id = $2 WHERE id = $1', [
      key.id,
      await organisationOf(organisationOwner),
    ]);
    expect((await postToKey(administrator, { action: 'rotate' })).status).toBe(200);
  });

  test('cannot be obtained by creating a key in the name of a superior', async () => {
    const createKeyFor = (person: KeyUser, userId: number) =>
      sendJson({ url: app.url, cookie: person.cookie }, '/dashboard/keys/new', {
        name: 'x',
        user_id: userId,
      });
    expect((await createKeyFor(administrator, organisationOwner.userId)).status).toBe(403);
    expect((await createKeyFor(administrator, owner.userId)).status).toBe(200);
    expect((await createKeyFor(organisationOwner, administrator.userId)).status).toBe(200);
  });
});

test('the form saves every limit and shows it again', async () => {
  const path = `/dashboard/keys/${key.id}`;
  const form = {
    name: 'formed',
    budget_limit: '5',
    budget_period: 'weekly',
    rate_limit_tpm: '7000',
    max_parallel: '2',
    answer_model: 'supplier',
  };
  expect((await send(path, form, owner.cookie)).status).toBe(303);
  const ownerPage = await page(owner);
  expect(ownerPage).toContain('value="7000"');
  expect(ownerPage).toContain('Requests open now');
  expect(ownerPage).toContain('a week');
  expect(ownerPage).toContain('<option value="supplier" selected>');
  const refusal = await send(path, { ...form, _page: path, max_parallel: '0' }, owner.cookie);
  expect(refusal.status).toBe(422);
  expect(refusal.body).toContain('Requests at once must be');
  const unknownModelResponse = await send(
    path,
    { ...form, _page: path, answer_model: 'nobody' },
    owner.cookie,
  );
  expect(unknownModelResponse.status).toBe(422);
  expect(unknownModelResponse.body).toContain('Choose one of the names offered.');
  expect(
    (await send(path, { ...form, _page: path, model_budgets: 'no model' }, owner.cookie)).body,
  ).toContain('Write one line for each model');
});

describe('A temporary budget raise of a key', () => {
  const state = async () => app.application.get(Limits, { strict: false }).state({ kind: 'key', id: key.id });
  const raiseForm = (overrides: object = {}) => ({
    action: 'raise',
    raise_amount: '2.5',
    raise_until: new Date(Date.now() + 86_400_000).toISOString(),
    reason: 'A week of tests.',
    ...overrides,
  });

  test('takes effect immediately, is shown next to the usage, is logged, and can be ended early', async () => {
    expect((await postToKey(administrator, { budget_limit: 1 })).status).toBe(200);
    expect(await postToKey(administrator, raiseForm())).toMatchObject({
      status: 200,
      json: { budget_limit: 1, budget_raised: 2.5, budget_remaining: 3.5 },
    });
    expect(await page(owner)).toContain('Raised by');
    expect(await page(owner)).not.toContain('value="raise"');
    const adminPage = await page(administrator);
    expect(adminPage).toContain('A week of tests.');
    const id = /name="raise_id" value="(\d+)"/.exec(adminPage)?.[1];
    expect((await postToKey(administrator, { action: 'end_raise', raise_id: id })).json).toMatchObject({
      budget_raised: null,
      budget_remaining: 1,
    });
    expect(await keyActions()).toEqual(['key.changed', 'key.budget-raised', 'key.budget-raise-ended']);
  });

  test('survives a change of the budget and expires automatically', async () => {
    await postToKey(administrator, { budget_limit: 1 });
    const endsAt = new Date(Date.now() + 4_000);
    expect((await postToKey(administrator, raiseForm({ raise_until: endsAt.toISOString() }))).status).toBe(
      200,
    );
    await postToKey(administrator, { budget_limit: 4 });
    expect(await state()).toMatchObject({
      limit: parseUsd('4'),
      raised: parseUsd('2.5'),
      raisedUntil: endsAt,
    });
    await until(async () => (await state())?.raised === 0n);
    // The next lease of a node creates the window; until then it does not exist.
    await until(async () => {
      const [row] = await app.database.query<{ open: number }>(
        'SELECT count(*)::integer AS open FROM budget_raise WHERE ended_at IS NULL AND owner_id = $1',
        [key.id],
      );
      return row?.open === 0;
    });
    expect(await state()).toMatchObject({ limit: parseUsd('4'), remaining: parseUsd('4') });
  });

  test.each([
    ['without a budget', {}, 409],
    ['by nothing', { raise_amount: '0' }, 422],
    ['until yesterday', { raise_until: '2020-01-01' }, 422],
    ['without a reason', { reason: '' }, 422],
  ])('%s is refused', async (_what, rest, status) => {
    if (status !== 409) await postToKey(administrator, { budget_limit: 1 });
    expect((await postToKey(administrator, raiseForm(rest))).status).toBe(status);
  });

  test('is not available to key owners', async () => {
    await postToKey(owner, { budget_limit: 1 });
    expect((await postToKey(owner, raiseForm())).status).toBe(403);
  });
});

// "Locked limits bind one key: its owner makes another"
test('an owner whose limits are locked makes no further key, also after revoking the locked one', async () => {
  const newOwner = await createPerson('user', await organisationOf(owner));
  key = await addKey(app, newOwner.userId);
  const createKey = (cookie: string, extraFields: object = {}) =>
    sendJson({ url: app.url, cookie }, '/dashboard/keys/new', { name: 'another', ...extraFields });
  await postToKey(administrator, { budget_limit: 2, limits_locked: true });
  const expectedRefusal = {
    status: 403,
    json: { error: expect.stringContaining('ask them for another key') as string },
  };
  expect(await createKey(newOwner.cookie)).toMatchObject(expectedRefusal);
  await postToKey(newOwner, { action: 'revoke' });
  expect(await createKey(newOwner.cookie)).toMatchObject(expectedRefusal);
  expect((await createKey(administrator.cookie, { user_id: newOwner.userId })).status).toBeLessThan(300);
  await postToKey(newOwner, { action: 'restore' });
  await postToKey(administrator, { limits_locked: false });
  expect((await createKey(newOwner.cookie)).status).toBeLessThan(300);
});
