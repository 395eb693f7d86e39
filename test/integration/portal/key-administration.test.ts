import { Limits } from '#product/billing';
import { Organisation, UserAccount } from '#product/identity';
import { parseUsd, type UserRole } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { formsOf } from '../../support/page-forms';
import { chatRecord, putRecords } from '../../support/records';
import { addKey, addUser, signIn } from '../../support/people';
import { openPage, sendJson, submitForm } from '../web/from-page';
import { ask } from '../web/raw-exchange';
import { until } from '../../support/until';

interface Person {
  readonly userId: number;
  readonly cookie: string;
}

let app: TestApp;
let owner: Person;
let administrator: Person;
let head: Person;
let stranger: Person;
let key: { id: number; publicId: string; text: string };

beforeAll(async () => {
  app = await startTestApp();
  const [own, other] = [await organisation('one'), await organisation('two')];
  owner = await person('user', own);
  administrator = await person('org_admin', own);
  head = await person('org_owner', own);
  stranger = await person('org_admin', other);
  for (const { cookie } of [administrator, head, stranger]) await intoAdminView(cookie);
});
beforeEach(async () => {
  key = await addKey(app, owner.userId);
});
afterAll(() => app.close());

async function organisation(name: string): Promise<number> {
  const repository = app.database.source.getRepository(Organisation);
  const row = repository.create({ name, slug: name });
  await repository.insert(row);
  return row.id;
}

async function person(role: UserRole, organisationId: number): Promise<Person> {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
}

const organisationOf = async ({ userId }: Person): Promise<number> =>
  (await app.database.source.getRepository(UserAccount).findOneByOrFail({ id: userId })).organisationId ?? 0;

async function intoAdminView(cookie: string): Promise<void> {
  const answer = await send('/dashboard/toggle-admin-mode', {}, cookie);
  expect(answer.status).toBeLessThan(400);
}

const send = (path: string, form: Record<string, string>, cookie: string) =>
  submitForm({ url: app.url, cookie }, path, form);
const page = async ({ cookie }: Person) =>
  (await openPage({ url: app.url, cookie }, `/dashboard/keys/${key.id}`)).body;
const tell = ({ cookie }: Person, body: object) =>
  sendJson({ url: app.url, cookie }, `/dashboard/keys/${key.id}`, body);
const nameOf = async ({ userId }: Person) =>
  (await app.database.source.getRepository(UserAccount).findOneByOrFail({ id: userId })).displayName;
const actionsOn = async () =>
  (
    await app.database.query<{ action: string }>(
      "SELECT action FROM activity WHERE object_type = 'key' AND object_id = $1 ORDER BY id",
      [String(key.id)],
    )
  ).map(({ action }) => action);
const answers = async () =>
  (await ask(app.url, { path: '/v1/key', headers: { authorization: `Bearer ${key.text}` } })).status;

test('administrators are asked for a reason where they pause, resume, limit and revoke', async () => {
  const reasons = async (person: Person): Promise<(string | undefined)[]> =>
    formsOf(await page(person)).flatMap(({ fields }) =>
      fields.some(({ name }) => name === 'reason')
        ? fields.filter(({ name }) => name === 'action').map(({ value }) => value)
        : [],
    );
  expect((await reasons(administrator)).sort()).toEqual(['pause', 'revoke', 'save']);
  expect(await reasons(owner)).toEqual(['revoke']);
  await tell(administrator, { action: 'pause' });
  expect(await reasons(administrator)).toContain('resume');
});

describe('a pause', () => {
  test('by an administrator holds against the owner, who reads who paused and why', async () => {
    expect((await tell(administrator, { action: 'pause', reason: 'Leaked in a log.' })).status).toBe(200);
    expect(await answers()).toBe(401);
    const shown = await page(owner);
    expect(shown).toContain(`${await nameOf(administrator)} paused this key`);
    expect(shown).toContain('Leaked in a log.');
    expect(shown).not.toContain('value="resume"');
    expect(await tell(owner, { action: 'resume' })).toMatchObject({
      status: 403,
      json: { error: 'An administrator paused this key: ask them to resume it.' },
    });
    expect(await tell(owner, { action: 'save', status: 'active' })).toMatchObject({ status: 403 });
    expect(await answers()).toBe(401);
    expect((await tell(administrator, { action: 'resume' })).status).toBe(200);
    expect(await answers()).toBe(200);
    expect(await page(owner)).not.toContain('paused this key');
    expect(await actionsOn()).toEqual(['key.disabled', 'key.enabled']);
  });

  test('by the owner is the owner’s to end', async () => {
    expect((await tell(owner, { action: 'pause' })).status).toBe(200);
    expect((await tell(owner, { action: 'resume' })).status).toBe(200);
    expect(await answers()).toBe(200);
  });

  test('nor any act of an administrator of others: the key is not there', async () => {
    for (const action of ['pause', 'revoke', 'raise', 'save'])
      expect((await tell(stranger, { action, name: 'x' })).status).toBe(404);
    expect(await answers()).toBe(200);
  });

  test('an administrator revokes for good', async () => {
    expect((await tell(administrator, { action: 'revoke', reason: 'Left the house.' })).status).toBe(200);
    expect(await answers()).toBe(401);
  });
});

test('an administrator who revokes a key in use types its name; its owner and a key that no one uses need none', async () => {
  const path = `/dashboard/keys/${key.id}`;
  expect(await page(administrator)).not.toContain('name="confirmation"');
  await putRecords(app, [chatRecord(owner.userId, key.id), chatRecord(owner.userId, key.id)]);
  const shown = await page(administrator);
  expect(shown).toContain('It was used for 2 requests in the last 24 hours.');
  expect(shown).toMatch(/<label for="revoke-name">Type “test” to confirm/);
  expect(await page(owner)).not.toContain('name="confirmation"');
  for (const confirmation of ['', 'other']) {
    const refused = await send(path, { action: 'revoke', confirmation, _page: path }, administrator.cookie);
    expect([refused.status, refused.body.includes('Type “test” to confirm.')]).toEqual([409, true]);
  }
  expect(await answers()).toBe(200);
  expect((await send(path, { action: 'revoke', confirmation: 'test' }, administrator.cookie)).status).toBe(
    303,
  );
  expect(await answers()).toBe(401);
});

test('limits that an administrator locks are theirs to change; names are not limits', async () => {
  const limits = { rate_limit_rpm: 9, rate_limit_tpm: 5_000, max_parallel: 3, budget_limit: 2 };
  const set = await tell(administrator, { ...limits, limits_locked: true });
  expect(set).toMatchObject({
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
    expect((await tell(owner, change)).status).toBe(403);
  expect((await tell(owner, { name: 'mine', rate_limit_rpm: 9 })).status).toBe(200);
  expect((await tell(administrator, { limits_locked: false })).status).toBe(200);
  expect((await tell(owner, { rate_limit_tpm: null })).status).toBe(200);
});

describe('one’s superior decides', () => {
  const limits = { budget_limit: 2, limits_locked: true };

  test('about one’s own key holds, in the view of the administration too', async () => {
    key = await addKey(app, administrator.userId);
    expect((await tell(administrator, { action: 'rotate' })).status).toBe(200);
    await tell(head, limits);
    await tell(head, { action: 'pause', reason: 'Leaked in a log.' });
    for (const change of [
      { action: 'resume' },
      { status: 'active' },
      { limits_locked: false },
      { budget_limit: 900 },
      { action: 'raise', raise_amount: '5', raise_until: '2999-01-01T00:00:00Z', reason: 'Mine.' },
    ])
      expect([change, (await tell(administrator, change)).status]).toEqual([change, 403]);
    const shown = await page(administrator);
    for (const absent of ['value="resume"', 'name="limits_locked"', 'name="budget_limit"'])
      expect(shown).not.toContain(absent);
    expect((await tell(head, { action: 'resume' })).status).toBe(200);
    expect((await tell(head, { limits_locked: false })).status).toBe(200);
    expect((await tell(administrator, { budget_limit: 3 })).status).toBe(200);
  });

  test('about the key of another person is for those of the same rank to lift', async () => {
    await tell(head, limits);
    await tell(head, { action: 'pause' });
    expect(await tell(administrator, { action: 'resume' })).toMatchObject({
      status: 403,
      json: { error: expect.stringContaining('above yours') as string },
    });
    for (const change of [{ limits_locked: false }, { budget_limit: 900 }])
      expect((await tell(administrator, change)).status).toBe(403);
    const shown = await page(administrator);
    expect(shown).not.toContain('value="resume"');
    expect(shown).not.toContain('name="budget_limit"');
    const peer = await person('org_owner', await organisationOf(head));
    await intoAdminView(peer.cookie);
    expect((await tell(peer, { action: 'resume' })).status).toBe(200);
    expect((await tell(administrator, { action: 'revoke' })).status).toBe(200);
  });

  test('a lock that one set on one’s own key as an administrator is one’s own to lift', async () => {
    key = await addKey(app, administrator.userId);
    await app.database.query(
      'UPDATE api_key SET limits_locked_by = $2, limits_locked_at = now() WHERE id = $1',
      [key.id, administrator.userId],
    );
    expect((await tell(administrator, { budget_limit: 3, limits_locked: false })).status).toBe(200);
  });
});

describe('the secret of a person’s key', () => {
  test('is theirs: no administrator rotates it', async () => {
    for (const one of [administrator, head]) {
      expect(await tell(one, { action: 'rotate' })).toMatchObject({
        status: 403,
        json: { error: 'Only the owner of this key may rotate it; revoke it instead.' },
      });
      expect(await page(one)).not.toContain('value="rotate"');
    }
    expect(await answers()).toBe(200);
    expect(await page(owner)).toContain('value="rotate"');
    expect((await tell(owner, { action: 'rotate' })).status).toBe(200);
    const platform = await person('platform_owner', await organisationOf(head));
    await intoAdminView(platform.cookie);
    key = await addKey(app, platform.userId);
    expect((await tell(platform, { action: 'rotate' })).status).toBe(200);
  });

  test('of no person is rotated by administrators', async () => {
    await app.database.query('UPDATE api_key SET user_id = NULL, organisation_id = $2 WHERE id = $1', [
      key.id,
      await organisationOf(head),
    ]);
    expect((await tell(administrator, { action: 'rotate' })).status).toBe(200);
  });

  test('is not handed to those below them: they make no keys in the name of a superior', async () => {
    const make = (person: Person, userId: number) =>
      sendJson({ url: app.url, cookie: person.cookie }, '/dashboard/keys/new', {
        name: 'x',
        user_id: userId,
      });
    expect((await make(administrator, head.userId)).status).toBe(403);
    expect((await make(administrator, owner.userId)).status).toBe(200);
    expect((await make(head, administrator.userId)).status).toBe(200);
  });
});

test('the form sets every limit and shows it again', async () => {
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
  const shown = await page(owner);
  expect(shown).toContain('value="7000"');
  expect(shown).toContain('Requests open now');
  expect(shown).toContain('a week');
  expect(shown).toContain('<option value="supplier" selected>');
  const refused = await send(path, { ...form, _page: path, max_parallel: '0' }, owner.cookie);
  expect(refused.status).toBe(422);
  expect(refused.body).toContain('Requests at once must be');
  const unknown = await send(path, { ...form, _page: path, answer_model: 'nobody' }, owner.cookie);
  expect(unknown.status).toBe(422);
  expect(unknown.body).toContain('Choose one of the names offered.');
  expect(
    (await send(path, { ...form, _page: path, model_budgets: 'no model' }, owner.cookie)).body,
  ).toContain('Write one line for each model');
});

describe('a budget raised for a while', () => {
  const state = async () => app.application.get(Limits, { strict: false }).state({ kind: 'key', id: key.id });
  const raise = (rest: object = {}) => ({
    action: 'raise',
    raise_amount: '2.5',
    raise_until: new Date(Date.now() + 86_400_000).toISOString(),
    reason: 'A week of tests.',
    ...rest,
  });

  test('counts at once, is shown beside its usage and on record, and can be ended early', async () => {
    expect((await tell(administrator, { budget_limit: 1 })).status).toBe(200);
    expect(await tell(administrator, raise())).toMatchObject({
      status: 200,
      json: { budget_limit: 1, budget_raised: 2.5, budget_remaining: 3.5 },
    });
    expect(await page(owner)).toContain('Raised by');
    expect(await page(owner)).not.toContain('value="raise"');
    const shown = await page(administrator);
    expect(shown).toContain('A week of tests.');
    const id = /name="raise_id" value="(\d+)"/.exec(shown)?.[1];
    expect((await tell(administrator, { action: 'end_raise', raise_id: id })).json).toMatchObject({
      budget_raised: null,
      budget_remaining: 1,
    });
    expect(await actionsOn()).toEqual(['key.changed', 'key.budget-raised', 'key.budget-raise-ended']);
  });

  test('a change of the budget keeps what it is raised by, and the end takes it away by itself', async () => {
    await tell(administrator, { budget_limit: 1 });
    const soon = new Date(Date.now() + 4_000);
    expect((await tell(administrator, raise({ raise_until: soon.toISOString() }))).status).toBe(200);
    await tell(administrator, { budget_limit: 4 });
    expect(await state()).toMatchObject({ limit: parseUsd('4'), raised: parseUsd('2.5'), raisedUntil: soon });
    await until(async () => (await state())?.raised === 0n);
    // With the next lease of a node; until then nobody draws, for the window is not there.
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
  ])('%s it is refused', async (_what, rest, status) => {
    if (status !== 409) await tell(administrator, { budget_limit: 1 });
    expect((await tell(administrator, raise(rest))).status).toBe(status);
  });

  test('is not for owners', async () => {
    await tell(owner, { budget_limit: 1 });
    expect((await tell(owner, raise())).status).toBe(403);
  });
});

// "Locked limits bind one key: its owner makes another"
test('an owner whose limits are locked makes no further key, also after revoking the locked one', async () => {
  const fresh = await person('user', await organisationOf(owner));
  key = await addKey(app, fresh.userId);
  const make = (cookie: string, more: object = {}) =>
    sendJson({ url: app.url, cookie }, '/dashboard/keys/new', { name: 'another', ...more });
  await tell(administrator, { budget_limit: 2, limits_locked: true });
  const refused = {
    status: 403,
    json: { error: expect.stringContaining('ask them for another key') as string },
  };
  expect(await make(fresh.cookie)).toMatchObject(refused);
  await tell(fresh, { action: 'revoke' });
  expect(await make(fresh.cookie)).toMatchObject(refused);
  expect((await make(administrator.cookie, { user_id: fresh.userId })).status).toBeLessThan(300);
  await tell(fresh, { action: 'restore' });
  await tell(administrator, { limits_locked: false });
  expect((await make(fresh.cookie)).status).toBeLessThan(300);
});
