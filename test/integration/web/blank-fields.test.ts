import { PortalFixture, type Person } from '../admin/portal-fixture';
import { parseForms, type PageField, type PageForm } from '../../support/page-forms';
import { createOneOfEach, collectForms } from './collect-forms';

/**
 * Invariant of every form: leaving an optional field empty never causes a refusal. Each form is submitted as rendered;
 * the returned page marks the invalid fields.
 */

let fixture: PortalFixture;
let owner: Person;
let forms: (PageForm & { readonly page: string })[];

const publicPages = [
  '/login',
  '/signup',
  '/forgot-password',
  `/reset-password?token=${'A'.repeat(43)}`,
  '/verify-email',
];
/** Input types that users type into; hidden values and choices are sent as rendered. */
const textInputTypes = new Set([
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
  fixture = await PortalFixture.open();
  owner = await createOneOfEach(fixture);
  forms = await collectForms(fixture, owner);
  for (const page of publicPages) {
    const { text } = await fixture.get(null, page);
    forms.push(...parseForms(text).map((form) => ({ ...form, page })));
  }
});
afterAll(() => fixture.close());

/** Optional fields that another value of the form makes required, as their labels say. */
const conditionallyRequired = new Map([
  ['/dashboard/admin/promotions/create', 'user_id'],
  ['/dashboard/admin/models/import', 'content'],
]);

const isBlank = (field: PageField): boolean => textInputTypes.has(field.type) && !field.isRequired;

/** Returns a plausible value for a required field. */
function sampleValueFor({ name, type, inputMode, value }: PageField): string {
  if (value !== '') return value;
  if (type === 'email' || name === 'email') return 'nobody@example.com';
  if (type === 'password') return 'correct horse battery staple';
  if (type === 'date') return '2030-01-31';
  if (type === 'datetime-local') return '2030-01-31T12:00';
  if (type === 'number' || inputMode === 'numeric' || inputMode === 'decimal') return '5';
  return type === 'url' ? 'https://models.example/v1' : 'something';
}

function formValues({ fields }: PageForm): [string, string][] {
  return fields
    .filter(({ isSent }) => isSent)
    .map((field): [string, string] => [
      field.name,
      isBlank(field) ? '' : textInputTypes.has(field.type) ? sampleValueFor(field) : field.value,
    ]);
}

async function findRefusedFields(
  form: PageForm,
  isVisitor: boolean,
): Promise<{ status: number; fields: Set<string> }> {
  const person = isVisitor ? null : await fixture.signInAgain(owner);
  const answer = await fetch(fixture.app.url + form.action, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      ...(person === null ? {} : { cookie: person.cookie }),
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams(formValues(form)).toString(),
  });
  const invalid = [
    ...(await answer.text()).matchAll(/<(?:input|select|textarea)\b[^>]* aria-invalid="true"[^>]*>/g),
  ];
  const fields = new Set(invalid.map(([tag]) => / name="([^"]*)"/.exec(tag)?.[1] ?? ''));
  return { status: answer.status, fields: answer.status < 400 ? new Set() : fields };
}

test('no form is refused because an optional field is empty', async () => {
  const distinct = new Map(
    forms
      .filter(({ fields }) => fields.some(isBlank))
      .map((form) => [
        `${form.action} ${form.fields.map(({ name, type }) => `${name}:${type}`).join(' ')}`,
        form,
      ]),
  );
  const problems: string[] = [];
  let formCount = 0;
  for (const form of distinct.values()) {
    const { status, fields } = await findRefusedFields(form, publicPages.includes(form.page));
    if (status < 400) formCount += 1;
    const blankFields = form.fields.filter(
      (field) =>
        isBlank(field) && fields.has(field.name) && conditionallyRequired.get(form.action) !== field.name,
    );
    if (blankFields.length > 0 || status >= 500)
      problems.push(
        `${form.action} on ${form.page}: ${status} for ${blankFields.map(({ name }) => name).join(', ')}`,
      );
  }
  expect(problems).toEqual([]);
  expect(distinct.size).toBeGreaterThan(35);
  expect(formCount).toBeGreaterThan(25);
}, 120_000);

test('sign-up works with the name left empty', async () => {
  const form = forms.find(({ action }) => action === '/auth/register');
  if (form === undefined) throw new Error('nothing to sign up with');
  const checkboxes = form.fields
    .filter(({ type }) => type === 'checkbox')
    .map(({ name, value }): [string, string] => [name, value]);
  const formPairs = [...formValues(form), ...checkboxes].map(([name, value]): [string, string] => [
    name,
    name === 'email' ? 'new@example.com' : value,
  ]);
  const answer = await fetch(`${fixture.app.url}/auth/register`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams(formPairs).toString(),
  });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/verify-email?sent=register']);
  expect(
    await fixture.row('SELECT display_name FROM user_account WHERE email = $1', ['new@example.com']),
  ).toEqual({
    display_name: 'new',
  });
});
