import { formsOf } from '../../support/page-forms';
import { House, type Person } from './house';

/** Of two edits that began from the same page, the second is told and writes nothing. */
let house: House;
let admin: Person;
let owner: Person;
const desk = '/dashboard/admin';

beforeAll(async () => {
  house = await House.open();
  [admin, owner] = [await house.person('platform_admin'), await house.person('org_owner')];
  for (const model of ['one', 'two'])
    await house.post(admin, `${desk}/models/create`, {
      model,
      kind: 'chat',
      owned_by: 'tests',
      input_price: 1,
      output_price: 2,
    });
  await house.post(owner, `${desk}/departments`, { name: 'Research' });
  await house.post(owner, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
});
afterAll(() => house.close());

type Typed = Readonly<Record<string, string>>;
type Fields = readonly (readonly [string, string])[];

async function shown(person: Person, page: string, action: string, having: Typed = {}): Promise<Fields> {
  const { status, text } = await house.get(person, page);
  if (status !== 200) throw new Error(`${page} answers ${status}`);
  const form = formsOf(text).find(
    (one) =>
      one.action === action &&
      Object.entries(having).every(([name, value]) =>
        one.fields.some((field) => field.name === name && field.value === value),
      ),
  );
  if (form === undefined) throw new Error(`${page} has no such form for ${action}`);
  return form.fields.filter(({ isSent }) => isSent).map(({ name, value }) => [name, value]);
}

async function send(person: Person, action: string, fields: Fields, typed: Typed = {}) {
  const answer = await fetch(house.app.url + action, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      cookie: person.cookie,
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams(
      fields.map(([name, value]): [string, string] => [name, typed[name] ?? value]),
    ).toString(),
  });
  return { status: answer.status, html: await answer.text() };
}

/** Both edits begin on one page; answers the second's page, which is the form's own again. */
async function twice(
  person: Person,
  page: string,
  action: string,
  first: Typed,
  second: Typed,
  having: Typed = {},
) {
  const fields = await shown(person, page, action, having);
  const one = await send(person, action, fields, first);
  const other = await send(person, action, fields, second);
  expect([action, one.status, other.status]).toEqual([action, 303, 409]);
  expect(other.html).toContain('Someone else changed this in the meantime');
  expect(formsOf(other.html).some((form) => form.action === action)).toBe(true);
  const again = await send(person, action, await shown(person, page, action), second);
  expect([action, again.status]).toEqual([action, 303]);
  return other.html;
}

const stored = async (statement: string): Promise<unknown> => Object.values(await house.row(statement))[0];

test('the model policy, with what was typed beside what is stored', async () => {
  const html = await twice(
    owner,
    `${desk}/models/access`,
    `${desk}/api/model-policy`,
    { mode: 'allow', patterns: 'one' },
    { mode: 'deny', patterns: 'two' },
  );
  expect(html).toContain('You entered: two');
  expect(await stored('SELECT mode FROM model_policy')).toBe('deny');
});

test('grants of the platform and switches of the organisation', async () => {
  const page = `${desk}/models/access?org_id=${house.ours}`;
  const row = { model: 'one' };
  // The platform takes the model away last, because its organisation no longer sees it then.
  for (const action of [`${desk}/models/domain-toggle`, `${desk}/api/model-org-access`]) {
    const fields = await shown(admin, page, action, row);
    const other = await shown(owner, `${desk}/models/access`, `${desk}/models/domain-toggle`, row);
    expect((await send(owner, `${desk}/models/domain-toggle`, other)).status).toBe(303);
    expect([action, (await send(admin, action, fields)).status]).toEqual([action, 409]);
    expect((await send(admin, action, await shown(admin, page, action, row))).status).toBe(303);
  }
});

test('a stale edit of what a department may use is told', async () => {
  const department = await stored('SELECT id FROM department');
  const page = `${desk}/models/access?dept_id=${String(department)}`;
  const action = `${desk}/api/departments/${String(department)}/model-access`;
  const fields = await shown(owner, page, action, { blocked: 'two' });
  expect((await send(owner, action, fields)).status).toBe(303);
  expect((await send(owner, action, fields)).status).toBe(409);
  const answer = await house.post(owner, action, { allowed: ['two'], version: 'old' });
  expect(answer).toMatchObject({
    status: 409,
    body: { code: 'conflict', details: { version: expect.any(String) } },
  });
});

test('settings of quality and of the autorouter, of an organisation, a person and a key', async () => {
  const page = '/dashboard/qualitative/settings';
  await twice(owner, page, page, { sampling_percent: '3' }, { sampling_percent: '4' });
  expect(
    await stored(`SELECT settings->>'sampling_percent' FROM engine_setting WHERE engine = 'qualitative'`),
  ).toBe('4');
  await twice(owner, page, `${desk}/autorouter/org`, { dial: '3' }, { dial: '4' });
  const own = '/dashboard/autorouter';
  await twice(owner, own, `${own}/user`, { dial: '5' }, { dial: '6' });
  await house.post(owner, '/dashboard/keys/new', { name: 'mine' });
  await house.post(owner, '/dashboard/keys/new', { name: 'other' });
  await twice(owner, own, `${own}/api-key`, { dial: '7' }, { dial: '8' });
  const key = await stored(`SELECT id::text FROM api_key WHERE name = 'mine'`);
  const opened = await shown(owner, `${own}?key=${String(key)}`, `${own}/api-key`);
  const other = await shown(owner, own, `${own}/api-key`);
  expect(
    new Map(
      [opened, other].map((fields) => [
        Object.fromEntries(fields)['key_id'] === key,
        Object.fromEntries(fields)['dial'],
      ]),
    ),
  ).toEqual(
    new Map([
      [true, ''],
      [false, '8'],
    ]),
  );
});

test('a stale edit of how long conversations are kept is told', async () => {
  await twice(
    owner,
    `${desk}/conversations`,
    `${desk}/conversations/retention`,
    { days: '30' },
    { days: '60' },
  );
  expect(await stored('SELECT days FROM conversation_retention')).toBe(60);
});

test('the state of a model, and its other names', async () => {
  const page = `${desk}/models/edit?model=two`;
  const state = `${desk}/model-prices/state`;
  await twice(admin, page, state, { state: 'paused' }, { state: 'hidden' });
  expect(await stored(`SELECT state FROM model WHERE name = 'two'`)).toBe('hidden');
  const alias = `${desk}/models/add-alias`;
  const html = await twice(admin, page, alias, { alias: 'deux' }, { alias: 'zwei' });
  expect(html).toContain('You entered: zwei');
  const names =
    'SELECT count(*)::integer FROM model_alias a JOIN model m ON m.id = a.model_id WHERE m.name = $1';
  expect(await house.row(names, ['two'])).toEqual({ count: 2 });
  const again = await house.post(admin, alias, { model: 'two', alias: 'zwei', version: 'old' });
  expect(again.status).toBe(200);
  for (const name of ['deux', 'zwei'])
    await house.post(admin, `${desk}/models/remove-alias`, { alias: name });
  expect((await house.post(admin, state, { model: 'two', state: 'active', version: 'old' })).status).toBe(
    409,
  );
  expect((await house.post(admin, state, { model: 'two', state: 'active' })).status).toBe(200);
});

test('the redirect of a model', async () => {
  const page = `${desk}/models/edit?model=two`;
  const action = `${desk}/model-prices/redirect`;
  const html = await twice(admin, page, action, { redirect_to: 'one' }, { redirect_to: '' });
  expect(html).toContain('value="one"');
  expect(await stored(`SELECT redirect_to FROM model WHERE name = 'two'`)).toBeNull();
  const change = { model: 'two', redirect_to: 'one' };
  expect((await house.post(admin, action, { ...change, version: 'old' })).status).toBe(409);
  for (const redirect_to of ['one', null])
    expect((await house.post(admin, action, { ...change, redirect_to })).status).toBe(200);
});

test('an alias that leads elsewhere by now is not removed', async () => {
  const page = `${desk}/models/edit?model=one`;
  const action = `${desk}/models/remove-alias`;
  await house.post(admin, `${desk}/models/add-alias`, { model: 'one', alias: 'first' });
  const fields = await shown(admin, page, action);
  await house.post(admin, action, { alias: 'first' });
  await house.post(admin, `${desk}/models/add-alias`, { model: 'two', alias: 'first' });
  expect((await send(admin, action, fields)).status).toBe(409);
  expect(await stored('SELECT count(*)::integer FROM model_alias')).toBe(1);
});

test('a price schedule that was changed is neither changed again nor removed unseen', async () => {
  const page = `${desk}/models/edit?model=one`;
  const path = `${desk}/models/one/price-schedule`;
  const span = { starts_at: '2040-01-01T00:00:00Z', ends_at: '2040-02-01T00:00:00Z', input_price: 2 };
  const made = (await house.post(admin, path, span)).body;
  const { id, version } = made as { id: number; version: string };
  const action = `${path}/${id}/delete`;
  const fields = await shown(admin, page, action);
  const change = (ends: string, known: string) =>
    house.post(admin, path, { id, ends_at: ends, version: known });
  expect((await change('2040-03-01T00:00:00Z', version)).status).toBe(200);
  expect((await change('2040-04-01T00:00:00Z', version)).status).toBe(409);
  expect((await send(admin, action, fields)).status).toBe(409);
  expect((await send(admin, action, await shown(admin, page, action))).status).toBe(303);
  expect(await stored('SELECT count(*)::integer FROM price_schedule')).toBe(0);
});
