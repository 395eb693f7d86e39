import { House, type Person } from '../admin/house';
import { formsOf, type PageField, type PageForm } from '../../support/page-forms';
import { furnished, offeredForms } from './offered-forms';

/**
 * The promise of every form: an optional field that is left empty refuses nothing. Each form is sent as a
 * browser sends it, with its own controls from the page. The page that comes back marks the fields at fault.
 */

let house: House;
let owner: Person;
let forms: (PageForm & { readonly page: string })[];

const entrances = [
  '/login',
  '/signup',
  '/forgot-password',
  `/reset-password?token=${'A'.repeat(43)}`,
  '/verify-email',
];
/** A person types into these; hidden values and choices are sent as the page has them. */
const typedTypes = new Set([
  'text',
  'search',
  'email',
  'url',
  'tel',
  'number',
  'date',
  'datetime-local',
  'textarea',
  'password',
]);

beforeAll(async () => {
  house = await House.open();
  owner = await furnished(house);
  forms = await offeredForms(house, owner);
  for (const page of entrances) {
    const { text } = await house.get(null, page);
    forms.push(...formsOf(text).map((form) => ({ ...form, page })));
  }
});
afterAll(() => house.close());

/** Refused for what another field of the form says, which their labels tell. */
const neededWithOthers = new Map([
  ['/dashboard/admin/promotions/create', 'user_id'],
  ['/dashboard/admin/models/import', 'content'],
]);

const isBlank = (field: PageField): boolean => typedTypes.has(field.type) && !field.isRequired;

/** A person types this where something has to be typed. */
function typedInto({ name, type, inputMode, value }: PageField): string {
  if (value !== '') return value;
  if (type === 'email' || name === 'email') return 'nobody@example.com';
  if (type === 'password') return 'correct horse battery staple';
  if (type === 'date') return '2030-01-31';
  if (type === 'datetime-local') return '2030-01-31T12:00';
  if (type === 'number' || inputMode === 'numeric' || inputMode === 'decimal') return '5';
  return type === 'url' ? 'https://models.example/v1' : 'something';
}

function sentBy({ fields }: PageForm): [string, string][] {
  return fields
    .filter(({ isSent }) => isSent)
    .map((field): [string, string] => [
      field.name,
      isBlank(field) ? '' : typedTypes.has(field.type) ? typedInto(field) : field.value,
    ]);
}

async function fieldsRefused(
  form: PageForm,
  isVisitor: boolean,
): Promise<{ status: number; fields: Set<string> }> {
  const person = isVisitor ? null : await house.signedIn(owner);
  const answer = await fetch(house.app.url + form.action, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      ...(person === null ? {} : { cookie: person.cookie }),
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams(sentBy(form)).toString(),
  });
  const invalid = [
    ...(await answer.text()).matchAll(/<(?:input|select|textarea)\b[^>]* aria-invalid="true"[^>]*>/g),
  ];
  const fields = new Set(invalid.map(([tag]) => / name="([^"]*)"/.exec(tag)?.[1] ?? ''));
  return { status: answer.status, fields: answer.status < 400 ? new Set() : fields };
}

test('no form is refused because a field that may be left empty is empty', async () => {
  const distinct = new Map(
    forms
      .filter(({ fields }) => fields.some(isBlank))
      .map((form) => [
        `${form.action} ${form.fields.map(({ name, type }) => `${name}:${type}`).join(' ')}`,
        form,
      ]),
  );
  const faults: string[] = [];
  let done = 0;
  for (const form of distinct.values()) {
    const { status, fields } = await fieldsRefused(form, entrances.includes(form.page));
    if (status < 400) done += 1;
    const blank = form.fields.filter(
      (field) => isBlank(field) && fields.has(field.name) && neededWithOthers.get(form.action) !== field.name,
    );
    if (blank.length > 0 || status >= 500)
      faults.push(
        `${form.action} on ${form.page}: ${status} for ${blank.map(({ name }) => name).join(', ')}`,
      );
  }
  expect(faults).toEqual([]);
  expect(distinct.size).toBeGreaterThan(35);
  expect(done).toBeGreaterThan(25);
}, 120_000);

test('a person signs up with a name left empty', async () => {
  const form = forms.find(({ action }) => action === '/auth/register');
  if (form === undefined) throw new Error('nothing to sign up with');
  const boxes = form.fields
    .filter(({ type }) => type === 'checkbox')
    .map(({ name, value }): [string, string] => [name, value]);
  const sent = [...sentBy(form), ...boxes].map(([name, value]): [string, string] => [
    name,
    name === 'email' ? 'new@example.com' : value,
  ]);
  const answer = await fetch(`${house.app.url}/auth/register`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams(sent).toString(),
  });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/verify-email?sent=register']);
  expect(
    await house.row('SELECT display_name FROM user_account WHERE email = $1', ['new@example.com']),
  ).toEqual({
    display_name: 'new',
  });
});
