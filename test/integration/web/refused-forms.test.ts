import { PortalFixture, type Person } from '../admin/portal-fixture';
import { parseForms, type PageField, type PageForm } from '../../support/page-forms';
import { createOneOfEach, collectForms, type OfferedForm } from './collect-forms';

/*
 * Invariant of every form: a refused form returns its own page with the entered values and the invalid field described.
 * Forms are collected by crawling the dashboard, so new forms are covered.
 */

const MAX_LENGTH = 1_500;
/** Single-use codes must be entered again. */
const neverPreserved = new Set(['code']);
let fixture: PortalFixture;
let owner: Person;

beforeAll(async () => {
  fixture = await PortalFixture.open();
  owner = await createOneOfEach(fixture);
});
afterAll(() => fixture.close());

const readPage = async (path: string): Promise<{ status: number; text: string }> => fixture.get(owner, path);

const send = async (action: string, pairs: [string, string][], person = owner) => {
  const answer = await fetch(fixture.app.url + action, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      cookie: person.cookie,
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams(pairs).toString(),
  });
  return { status: answer.status, html: await answer.text() };
};

/** Returns a value that is invalid for every field of this type, or null if there is none. */
function nonsenseFor({ type, inputMode }: PageField): string | null {
  if (['hidden', 'password', 'file', 'checkbox', 'radio', 'submit', 'color'].includes(type)) return null;
  if (type === 'select') return 'not-offered';
  if (type === 'date' || type === 'datetime-local') return 'someday';
  if (type === 'number' || inputMode === 'numeric' || inputMode === 'decimal') return 'many "<b>';
  return `no "<b>\u0001 ${'x'.repeat(MAX_LENGTH)}`;
}

/** Checks the tag that marks the field as invalid and its description; returns the problem or null. */
function invalidField(html: string, name: string): string | null {
  const tags = [...html.matchAll(/<(?:input|select|textarea)\b[^>]*>/g)].map(([tag]) => tag);
  const tag = tags.find((one) => one.includes(` name="${name}"`) && one.includes(' aria-invalid="true"'));
  if (tag === undefined) return 'no field is described as invalid';
  const descriptionId = / aria-describedby="([^" ]+)/.exec(tag)?.[1] ?? '';
  if (!html.includes(`id="${descriptionId}"`)) return `nothing has the id ${descriptionId}`;
  if (!tag.includes(' autofocus')) return 'the field has no focus';
  return null;
}

const namesOf = ({ fields }: Pick<PageForm, 'fields'>): string => fields.map(({ name }) => name).join(' ');

/** Tries the form as shown, then with every checkbox ticked, because some checkboxes enable their form. */
const checkForm = async (form: OfferedForm): Promise<string | null> =>
  (await checkFormWith(form, ({ isSent }) => isSent)) === null
    ? null
    : checkFormWith(form, ({ isSent, type }) => isSent || type === 'checkbox');

/** Invalidates one field at a time until the form is refused; returns the problem with the response, or null. */
async function checkFormWith(
  { action, fields: shown }: OfferedForm,
  isSent: (field: PageField) => boolean,
): Promise<string | null> {
  const fields = shown.filter(isSent);
  const replies: string[] = [];
  for (const invalid of fields) {
    const nonsense = nonsenseFor(invalid);
    if (nonsense === null) continue;
    const pairs = fields.map((field): [string, string] => [
      field.name,
      field === invalid ? nonsense : field.isRequired && field.value === '' ? 'x' : field.value,
    ]);
    const { status, html } = await send(action, pairs);
    if (status === 303) continue;
    if (status < 400 || status > 499) return `${invalid.name}: ${status}`;
    const problem = invalidField(html, invalid.name);
    if (problem !== null) {
      replies.push(`${invalid.name}: ${status} ${problem}`);
      continue;
    }
    // Another form with the same action has other fields.
    const returnedForms = parseForms(html).filter(
      (form) => form.action === action && namesOf(form) === namesOf({ fields: shown }),
    );
    const isPreserved = returnedForms.some((form) =>
      form.fields.some(({ name, value }) => name === invalid.name && value === nonsense),
    );
    return isPreserved || invalid.type === 'select' || neverPreserved.has(invalid.name)
      ? null
      : `${invalid.name}: what was typed is gone`;
  }
  return replies.join('; ') || 'nothing was refused';
}

const hasTypedFields = ({ fields }: PageForm): boolean => fields.some((field) => nonsenseFor(field) !== null);

test('every refused dashboard form is shown again with the entered values and the invalid field described', async () => {
  const forms = await collectForms(fixture, owner);
  const distinct = new Map(
    forms
      .filter(hasTypedFields)
      .map((form) => [
        `${form.action} ${form.fields.map(({ name, type }) => `${name}:${type}`).join(' ')}`,
        form,
      ]),
  );
  expect(distinct.size).toBeGreaterThan(55);
  const problems: string[] = [];
  for (const form of distinct.values()) {
    const problem = await checkForm(form);
    if (problem !== null) problems.push(`${form.action} on ${form.page}: ${problem}`);
  }
  expect(problems).toEqual([]);
}, 120_000);

/** Returns the fields of the form with this action as a browser sends them, with some values replaced. */
async function fillForm(
  page: string,
  action: string,
  typed: Record<string, string>,
): Promise<[string, string][]> {
  const form = parseForms((await readPage(page)).text).find((one) => one.action === action);
  if (form === undefined) throw new Error(`${page} has no form for ${action}`);
  return form.fields.filter(({ isSent }) => isSent).map(({ name, value }) => [name, typed[name] ?? value]);
}

test('the second of two edits is refused, showing the stored value next to the entered one', async () => {
  const page = `/dashboard/admin/organisations/${fixture.otherOrganisation}`;
  const fillName = (name: string) => fillForm(page, page, { name });
  const [mine, yours] = [await fillName('First & foremost'), await fillName('Second')];
  expect((await send(page, mine)).status).toBe(303);
  const refusal = await send(page, yours);
  expect(refusal.status).toBe(409);
  expect(refusal.html).toContain('value="First &amp; foremost"');
  expect(refusal.html).toContain('You entered: Second');
  expect(refusal.html).toMatch(/<details open class="act"/);
  const returnedForm = parseForms(refusal.html).find(({ action }) => action === page);
  const version = returnedForm?.fields.find(({ name }) => name === 'version')?.value;
  expect(
    (
      await send(
        page,
        yours.map(([name, value]) => [name, name === 'version' ? String(version) : value]),
      )
    ).status,
  ).toBe(303);
  expect((await readPage(page)).text).toContain('value="Second"');
});

test('an error without a field is shown above the form in its own region, and the page stays usable', async () => {
  const page = '/dashboard/admin/models/edit?model=one';
  const action = '/dashboard/admin/models/add-alias';
  const { status, html } = await send(action, await fillForm(page, action, { alias: 'one' }));
  expect(status).toBe(409);
  const bannerIndex = html.indexOf('class="banner banner-bad" role="alert"');
  expect(html.indexOf(`action="${action}"`)).toBeGreaterThan(bannerIndex);
  expect(bannerIndex).toBeGreaterThan(html.indexOf('<main'));
  expect(
    parseForms(html)
      .find((form) => form.action === action)
      ?.fields.find(({ name }) => name === 'alias')?.value,
  ).toBe('one');
});

test("errors are in the reader's language on pages, and unchanged in JSON", async () => {
  const action = '/dashboard/admin/departments';
  const { html } = await send(
    action,
    [
      ['_page', action],
      ['name', 'Forschung'],
      ['org_id', String(fixture.ownOrganisation)],
      ['monthly_budget', 'viel'],
    ],
    await fixture.person('platform_owner', { preferredLanguage: 'de' }),
  );
  expect(html).toContain('Geben Sie einen Betrag in US-Dollar mit Punkt ein');
  expect(html).toContain('value="Forschung"');
  const apiResponse = await fixture.post(owner, action, {
    name: 'x',
    org_id: fixture.ownOrganisation,
    monthly_budget: 'much',
  });
  expect(apiResponse).toMatchObject({
    status: 422,
    body: { code: 'validation_error', param: 'monthly_budget' },
  });
});

test('a refused form from a foreign or missing page gets an error page', async () => {
  const action = '/dashboard/admin/departments';
  for (const page of [
    'https://elsewhere.example/',
    '//elsewhere.example',
    '/absent',
    '/dashboard/keys/absent',
    '',
  ]) {
    const { status, html } = await send(action, [
      ['_page', page],
      ['name', ''],
      ['org_id', 'x'],
    ]);
    expect([page, status, html.includes('<h1>'), html.includes('elsewhere')]).toEqual([
      page,
      422,
      true,
      false,
    ]);
  }
});
