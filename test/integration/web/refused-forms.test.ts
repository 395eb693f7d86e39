import { House, type Person } from '../admin/house';
import { formsOf, type PageField, type PageForm } from '../../support/page-forms';
import { furnished, offeredForms, type OfferedForm } from './offered-forms';

/*
 * The promise of every form: what is refused comes back on its own page, with what was typed and the field at fault
 * described. The forms are found by reading every page that is linked from the dashboard, so that a new one is in it.
 */

const LONGEST = 1_500;
/** Good for one moment: it is typed anew. */
const neverKept = new Set(['code']);
let house: House;
let owner: Person;

beforeAll(async () => {
  house = await House.open();
  owner = await furnished(house);
});
afterAll(() => house.close());

const read = async (path: string): Promise<{ status: number; text: string }> => house.get(owner, path);

const send = async (action: string, pairs: [string, string][], person = owner) => {
  const answer = await fetch(house.app.url + action, {
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

/** No field of this kind can mean this. */
function nonsenseFor({ type, inputMode }: PageField): string | null {
  if (['hidden', 'password', 'file', 'checkbox', 'radio', 'submit', 'color'].includes(type)) return null;
  if (type === 'select') return 'not-offered';
  if (type === 'date' || type === 'datetime-local') return 'someday';
  if (type === 'number' || inputMode === 'numeric' || inputMode === 'decimal') return 'many "<b>';
  return `no "<b>\u0001 ${'x'.repeat(LONGEST)}`;
}

/** The tag that describes the field as invalid, and whether what it names is there. */
function invalidField(html: string, name: string): string | null {
  const tags = [...html.matchAll(/<(?:input|select|textarea)\b[^>]*>/g)].map(([tag]) => tag);
  const tag = tags.find((one) => one.includes(` name="${name}"`) && one.includes(' aria-invalid="true"'));
  if (tag === undefined) return 'no field is described as invalid';
  const described = / aria-describedby="([^" ]+)/.exec(tag)?.[1] ?? '';
  if (!html.includes(`id="${described}"`)) return `nothing has the id ${described}`;
  if (!tag.includes(' autofocus')) return 'the field has no focus';
  return null;
}

const namesOf = ({ fields }: Pick<PageForm, 'fields'>): string => fields.map(({ name }) => name).join(' ');

/** As it is shown, or else with every box ticked, for there are boxes that switch their form on. */
const refusedAt = async (form: OfferedForm): Promise<string | null> =>
  (await refusedWith(form, ({ isSent }) => isSent)) === null
    ? null
    : refusedWith(form, ({ isSent, type }) => isSent || type === 'checkbox');

/** One field at a time, until one is refused; what is wrong with the answer, or null. */
async function refusedWith(
  { action, fields: shown }: OfferedForm,
  isSent: (field: PageField) => boolean,
): Promise<string | null> {
  const fields = shown.filter(isSent);
  const said: string[] = [];
  for (const bad of fields) {
    const nonsense = nonsenseFor(bad);
    if (nonsense === null) continue;
    const pairs = fields.map((field): [string, string] => [
      field.name,
      field === bad ? nonsense : field.isRequired && field.value === '' ? 'x' : field.value,
    ]);
    const { status, html } = await send(action, pairs);
    if (status === 303) continue;
    if (status < 400 || status > 499) return `${bad.name}: ${status}`;
    const fault = invalidField(html, bad.name);
    if (fault !== null) {
      said.push(`${bad.name}: ${status} ${fault}`);
      continue;
    }
    // Another form of the address has other fields.
    const again = formsOf(html).filter(
      (form) => form.action === action && namesOf(form) === namesOf({ fields: shown }),
    );
    const kept = again.some((form) =>
      form.fields.some(({ name, value }) => name === bad.name && value === nonsense),
    );
    return kept || bad.type === 'select' || neverKept.has(bad.name)
      ? null
      : `${bad.name}: what was typed is gone`;
  }
  return said.join('; ') || 'nothing was refused';
}

const isFilledIn = ({ fields }: PageForm): boolean => fields.some((field) => nonsenseFor(field) !== null);

test('every form of the dashboard comes back with what was typed and the field at fault', async () => {
  const forms = await offeredForms(house, owner);
  const distinct = new Map(
    forms
      .filter(isFilledIn)
      .map((form) => [
        `${form.action} ${form.fields.map(({ name, type }) => `${name}:${type}`).join(' ')}`,
        form,
      ]),
  );
  expect(distinct.size).toBeGreaterThan(55);
  const faults: string[] = [];
  for (const form of distinct.values()) {
    const fault = await refusedAt(form);
    if (fault !== null) faults.push(`${form.action} on ${form.page}: ${fault}`);
  }
  expect(faults).toEqual([]);
}, 120_000);

/** The fields of the form at this address, as a browser would send them, with some typed over. */
async function filled(
  page: string,
  action: string,
  typed: Record<string, string>,
): Promise<[string, string][]> {
  const form = formsOf((await read(page)).text).find((one) => one.action === action);
  if (form === undefined) throw new Error(`${page} has no form for ${action}`);
  return form.fields.filter(({ isSent }) => isSent).map(({ name, value }) => [name, typed[name] ?? value]);
}

test('the second of two edits is told: the page shows what is stored now, and what was typed beside it', async () => {
  const page = `/dashboard/admin/organisations/${house.theirs}`;
  const edit = (name: string) => filled(page, page, { name });
  const [mine, yours] = [await edit('First & foremost'), await edit('Second')];
  expect((await send(page, mine)).status).toBe(303);
  const refused = await send(page, yours);
  expect(refused.status).toBe(409);
  expect(refused.html).toContain('value="First &amp; foremost"');
  expect(refused.html).toContain('You entered: Second');
  expect(refused.html).toMatch(/<details open class="act"/);
  const shown = formsOf(refused.html).find(({ action }) => action === page);
  const version = shown?.fields.find(({ name }) => name === 'version')?.value;
  expect(
    (
      await send(
        page,
        yours.map(([name, value]) => [name, name === 'version' ? String(version) : value]),
      )
    ).status,
  ).toBe(303);
  expect((await read(page)).text).toContain('value="Second"');
});

test('what belongs to no field is told above the form, in its own row of the page, and the page stays usable', async () => {
  const page = '/dashboard/admin/models/edit?model=one';
  const action = '/dashboard/admin/models/add-alias';
  const { status, html } = await send(action, await filled(page, action, { alias: 'one' }));
  expect(status).toBe(409);
  const at = html.indexOf('class="banner banner-bad" role="alert"');
  expect(html.indexOf(`action="${action}"`)).toBeGreaterThan(at);
  expect(at).toBeGreaterThan(html.indexOf('<main'));
  expect(
    formsOf(html)
      .find((form) => form.action === action)
      ?.fields.find(({ name }) => name === 'alias')?.value,
  ).toBe('one');
});

test('people read it in their language; a program gets the refusal as ever', async () => {
  const action = '/dashboard/admin/departments';
  const { html } = await send(
    action,
    [
      ['_page', action],
      ['name', 'Forschung'],
      ['org_id', String(house.ours)],
      ['monthly_budget', 'viel'],
    ],
    await house.person('platform_owner', { preferredLanguage: 'de' }),
  );
  expect(html).toContain('Geben Sie einen Betrag in US-Dollar mit Punkt ein');
  expect(html).toContain('value="Forschung"');
  const program = await house.post(owner, action, { name: 'x', org_id: house.ours, monthly_budget: 'much' });
  expect(program).toMatchObject({ status: 422, body: { code: 'validation_error', param: 'monthly_budget' } });
});

test('a form whose page is none of ours, or is gone, gets the page of its error', async () => {
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
