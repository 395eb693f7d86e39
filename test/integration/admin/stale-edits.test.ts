import { parseForms } from '../../support/page-forms';
import { PortalFixture, type Person } from './portal-fixture';

/** Two edits that start from the same page: the second is refused with a conflict and writes nothing. */
let fixture: PortalFixture;
let admin: Person;
let owner: Person;
const adminPath = '/dashboard/admin';

beforeAll(async () => {
  fixture = await PortalFixture.open();
  [admin, owner] = [await fixture.person('platform_admin'), await fixture.person('org_owner')];
  for (const model of ['one', 'two'])
    await fixture.post(admin, `${adminPath}/models/create`, {
      model,
      kind: 'chat',
      owned_by: 'tests',
      input_price: 1,
      output_price: 2,
    });
  await fixture.post(owner, `${adminPath}/departments`, { name: 'Research' });
  await fixture.post(owner, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
});
afterAll(() => fixture.close());

type EditInputs = Readonly<Record<string, string>>;
type EditFormFields = readonly (readonly [string, string])[];

async function readForm(
  person: Person,
  page: string,
  action: string,
  fieldValues: EditInputs = {},
): Promise<EditFormFields> {
  const { status, text } = await fixture.get(person, page);
  if (status !== 200) throw new Error(`${page} answers ${status}`);
  const form = parseForms(text).find(
    (one) =>
      one.action === action &&
      Object.entries(fieldValues).every(([name, value]) =>
        one.fields.some((field) => field.name === name && field.value === value),
      ),
  );
  if (form === undefined) throw new Error(`${page} has no such form for ${action}`);
  return form.fields.filter(({ isSent }) => isSent).map(({ name, value }) => [name, value]);
}

async function submitEdit(person: Person, action: string, fields: EditFormFields, inputs: EditInputs = {}) {
  const answer = await fetch(fixture.app.url + action, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      cookie: person.cookie,
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams(
      fields.map(([name, value]): [string, string] => [name, inputs[name] ?? value]),
    ).toString(),
  });
  return { status: answer.status, html: await answer.text() };
}

/** Submits two edits of one page and expects a conflict for the second; returns its page with the form shown again. */
async function submitTwice(
  person: Person,
  page: string,
  action: string,
  first: EditInputs,
  second: EditInputs,
  fieldValues: EditInputs = {},
) {
  const fields = await readForm(person, page, action, fieldValues);
  const firstResponse = await submitEdit(person, action, fields, first);
  const secondResponse = await submitEdit(person, action, fields, second);
  expect([action, firstResponse.status, secondResponse.status]).toEqual([action, 303, 409]);
  expect(secondResponse.html).toContain('Someone else changed this in the meantime');
  expect(parseForms(secondResponse.html).some((form) => form.action === action)).toBe(true);
  const retryResponse = await submitEdit(person, action, await readForm(person, page, action), second);
  expect([action, retryResponse.status]).toEqual([action, 303]);
  return secondResponse.html;
}

const storedValues = async (statement: string): Promise<unknown> =>
  Object.values(await fixture.row(statement))[0];

test('a stale edit of the model policy is refused, showing the entered and the stored values', async () => {
  const html = await submitTwice(
    owner,
    `${adminPath}/models/access`,
    `${adminPath}/api/model-policy`,
    { mode: 'allow', patterns: 'one' },
    { mode: 'deny', patterns: 'two' },
  );
  expect(html).toContain('You entered: two');
  expect(await storedValues('SELECT mode FROM model_policy')).toBe('deny');
});

test('stale edits of platform grants and organisation switches are refused', async () => {
  const page = `${adminPath}/models/access?org_id=${fixture.ownOrganisation}`;
  const row = { model: 'one' };
  // The platform grant comes last, because the organisation no longer sees the model afterwards.
  for (const action of [`${adminPath}/models/domain-toggle`, `${adminPath}/api/model-org-access`]) {
    const fields = await readForm(admin, page, action, row);
    const otherRowFields = await readForm(
      owner,
      `${adminPath}/models/access`,
      `${adminPath}/models/domain-toggle`,
      row,
    );
    expect((await submitEdit(owner, `${adminPath}/models/domain-toggle`, otherRowFields)).status).toBe(303);
    expect([action, (await submitEdit(admin, action, fields)).status]).toEqual([action, 409]);
    expect((await submitEdit(admin, action, await readForm(admin, page, action, row))).status).toBe(303);
  }
});

test("a stale edit of a department's model access is refused", async () => {
  const department = await storedValues('SELECT id FROM department');
  const page = `${adminPath}/models/access?dept_id=${String(department)}`;
  const action = `${adminPath}/api/departments/${String(department)}/model-access`;
  const fields = await readForm(owner, page, action, { blocked: 'two' });
  expect((await submitEdit(owner, action, fields)).status).toBe(303);
  expect((await submitEdit(owner, action, fields)).status).toBe(409);
  const answer = await fixture.post(owner, action, { allowed: ['two'], version: 'old' });
  expect(answer).toMatchObject({
    status: 409,
    body: { code: 'conflict', details: { version: expect.any(String) } },
  });
});

test('stale edits of quality and autorouter settings of organisation, user and key are refused', async () => {
  const page = '/dashboard/qualitative/settings';
  await submitTwice(owner, page, page, { sampling_percent: '3' }, { sampling_percent: '4' });
  expect(
    await storedValues(
      `SELECT settings->>'sampling_percent' FROM engine_setting WHERE engine = 'qualitative'`,
    ),
  ).toBe('4');
  await submitTwice(owner, page, `${adminPath}/autorouter/org`, { dial: '3' }, { dial: '4' });
  const autorouterPath = '/dashboard/autorouter';
  await submitTwice(owner, autorouterPath, `${autorouterPath}/user`, { dial: '5' }, { dial: '6' });
  await fixture.post(owner, '/dashboard/keys/new', { name: 'mine' });
  await fixture.post(owner, '/dashboard/keys/new', { name: 'other' });
  await submitTwice(owner, autorouterPath, `${autorouterPath}/api-key`, { dial: '7' }, { dial: '8' });
  const key = await storedValues(`SELECT id::text FROM api_key WHERE name = 'mine'`);
  const keyForm = await readForm(owner, `${autorouterPath}?key=${String(key)}`, `${autorouterPath}/api-key`);
  const otherForm = await readForm(owner, autorouterPath, `${autorouterPath}/api-key`);
  expect(
    new Map(
      [keyForm, otherForm].map((fields) => [
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

test('a stale edit of the conversation retention is refused', async () => {
  await submitTwice(
    owner,
    `${adminPath}/conversations`,
    `${adminPath}/conversations/retention`,
    { days: '30' },
    { days: '60' },
  );
  expect(await storedValues('SELECT days FROM conversation_retention')).toBe(60);
});

test("stale edits of a model's state and aliases are refused", async () => {
  const page = `${adminPath}/models/edit?model=two`;
  const state = `${adminPath}/model-prices/state`;
  await submitTwice(admin, page, state, { state: 'paused' }, { state: 'hidden' });
  expect(await storedValues(`SELECT state FROM model WHERE name = 'two'`)).toBe('hidden');
  const alias = `${adminPath}/models/add-alias`;
  const html = await submitTwice(admin, page, alias, { alias: 'deux' }, { alias: 'zwei' });
  expect(html).toContain('You entered: zwei');
  const names =
    'SELECT count(*)::integer FROM model_alias a JOIN model m ON m.id = a.model_id WHERE m.name = $1';
  expect(await fixture.row(names, ['two'])).toEqual({ count: 2 });
  const staleResponse = await fixture.post(admin, alias, { model: 'two', alias: 'zwei', version: 'old' });
  expect(staleResponse.status).toBe(200);
  for (const name of ['deux', 'zwei'])
    await fixture.post(admin, `${adminPath}/models/remove-alias`, { alias: name });
  expect((await fixture.post(admin, state, { model: 'two', state: 'active', version: 'old' })).status).toBe(
    409,
  );
  expect((await fixture.post(admin, state, { model: 'two', state: 'active' })).status).toBe(200);
});

test('a stale edit of a model redirect is refused', async () => {
  const page = `${adminPath}/models/edit?model=two`;
  const action = `${adminPath}/model-prices/redirect`;
  const html = await submitTwice(admin, page, action, { redirect_to: 'one' }, { redirect_to: '' });
  expect(html).toContain('value="one"');
  expect(await storedValues(`SELECT redirect_to FROM model WHERE name = 'two'`)).toBeNull();
  const change = { model: 'two', redirect_to: 'one' };
  expect((await fixture.post(admin, action, { ...change, version: 'old' })).status).toBe(409);
  for (const redirect_to of ['one', null])
    expect((await fixture.post(admin, action, { ...change, redirect_to })).status).toBe(200);
});

test('an alias that meanwhile points to another model is not removed', async () => {
  const page = `${adminPath}/models/edit?model=one`;
  const action = `${adminPath}/models/remove-alias`;
  await fixture.post(admin, `${adminPath}/models/add-alias`, { model: 'one', alias: 'first' });
  const fields = await readForm(admin, page, action);
  await fixture.post(admin, action, { alias: 'first' });
  await fixture.post(admin, `${adminPath}/models/add-alias`, { model: 'two', alias: 'first' });
  expect((await submitEdit(admin, action, fields)).status).toBe(409);
  expect(await storedValues('SELECT count(*)::integer FROM model_alias')).toBe(1);
});

test('a price schedule that changed meanwhile is neither edited nor removed', async () => {
  const page = `${adminPath}/models/edit?model=one`;
  const path = `${adminPath}/models/one/price-schedule`;
  const span = { starts_at: '2040-01-01T00:00:00Z', ends_at: '2040-02-01T00:00:00Z', input_price: 2 };
  const schedule = (await fixture.post(admin, path, span)).body;
  const { id, version } = schedule as { id: number; version: string };
  const action = `${path}/${id}/delete`;
  const fields = await readForm(admin, page, action);
  const change = (ends: string, known: string) =>
    fixture.post(admin, path, { id, ends_at: ends, version: known });
  expect((await change('2040-03-01T00:00:00Z', version)).status).toBe(200);
  expect((await change('2040-04-01T00:00:00Z', version)).status).toBe(409);
  expect((await submitEdit(admin, action, fields)).status).toBe(409);
  expect((await submitEdit(admin, action, await readForm(admin, page, action))).status).toBe(303);
  expect(await storedValues('SELECT count(*)::integer FROM price_schedule')).toBe(0);
});
