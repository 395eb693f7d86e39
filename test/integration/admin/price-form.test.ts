import { parseForms, type PageForm } from '../../support/page-forms';
import type { RawAnswer } from '../web/raw-exchange';
import { AdminHouse } from './admin-fixture';

let fixture: AdminHouse;
beforeAll(async () => {
  fixture = await AdminHouse.open();
});
afterAll(() => fixture.close());

const PRICE = '/dashboard/admin/model-prices/update';
const page = (model: string): string => `/dashboard/admin/models/edit?model=${model}`;
const schedulesOf = (model: string): string => `/dashboard/admin/models/${model}/price-schedule`;

/** Ten token kinds with separate prices, a per-call price and a price per audio minute. */
const allRates = {
  input_price: '1',
  output_price: '2.5',
  cache_read_price: '0.1',
  cache_write_price: '1.25',
  cache_write_long_price: '2',
  reasoning_price: '3',
  audio_input_price: '4',
  audio_output_price: '8',
  image_price: '5',
  image_output_price: '30.000000001',
  ppm_price: '0.006',
  per_call_price: '0.0001',
};
const numbers = Object.fromEntries(Object.entries(allRates).map(([name, text]) => [name, Number(text)]));
const separateRates = Object.keys(allRates).filter(
  (name) => !['input_price', 'output_price', 'ppm_price', 'per_call_price'].includes(name),
);

const createModel = (model: string, rates: object, kind = 'chat') =>
  fixture.admin.post('/dashboard/admin/models/create', { model, kind, owned_by: 'tests', ...rates });

async function openForm(model: string, action: string): Promise<{ form: PageForm; body: string }> {
  const { status, body } = await fixture.admin.page(page(model));
  const form = parseForms(body).find((one) => one.action === action);
  if (status !== 200 || form === undefined) throw new Error(`${page(model)} has no form for ${action}`);
  return { form, body };
}

/** Submits the form as rendered, with the given inputs replaced. */
async function submitForm(model: string, action: string, inputs: Record<string, string>): Promise<RawAnswer> {
  const { form } = await openForm(model, action);
  const fields = new URLSearchParams(
    form.fields.filter(({ isSent }) => isSent).map(({ name, value }): [string, string] => [name, value]),
  );
  expect(Object.keys(inputs).filter((name) => !fields.has(name))).toEqual([]);
  for (const [name, value] of Object.entries(inputs)) fields.set(name, value);
  return fixture.admin.form(action, fields);
}

const currentPrice = async (model: string) => (await fixture.admin.get(schedulesOf(model))).json['price'];

/** Returns the collapsed part of a form. */
const collapsedPart = (body: string, action: string): string =>
  /<details\b[^]*?<\/details>/.exec(body.slice(body.indexOf(`action="${action}"`)))?.[0] ?? '';

test('the page sets every rate of a price, and clearing a rate restores its fallback', async () => {
  await createModel('whole', { input_price: 9, output_price: 9 });
  expect((await submitForm('whole', PRICE, allRates)).status).toBe(303);
  expect(await currentPrice('whole')).toMatchObject(numbers);
  // An untouched field keeps all digits.
  expect((await submitForm('whole', PRICE, { input_price: '1.5' })).status).toBe(303);
  expect(await currentPrice('whole')).toMatchObject({ ...numbers, input_price: 1.5 });
  for (const name of separateRates) {
    expect((await submitForm('whole', PRICE, { [name]: '' })).status).toBe(303);
    expect(await currentPrice('whole')).toMatchObject({ [name]: null });
  }
  const { form, body } = await openForm('whole', PRICE);
  expect(form.fields.filter(({ name }) => separateRates.includes(name)).map(({ value }) => value)).toEqual(
    separateRates.map(() => ''),
  );
  expect(body).toContain('Same as “Input”');
  expect(body).toContain('Same as “Cache write”');
});

test('the usual rates are visible, and the others are collapsed until one of them is set', async () => {
  await createModel('plain', { input_price: 1, output_price: 2, cache_read_price: 0.5 });
  const collapsed = collapsedPart((await openForm('plain', PRICE)).body, PRICE);
  for (const name of ['input_price', 'output_price', 'cache_read_price', 'cache_write_price'])
    expect(collapsed).not.toContain(`name="${name}"`);
  expect(collapsed.match(/ name="\w+_price"/g)).toHaveLength(8);
  expect(collapsed).toMatch(/^<details[^>]*><summary>Further rates</);
  expect(collapsed).not.toMatch(/^<details[^>]* open/);
  await submitForm('plain', PRICE, { reasoning_price: '4' });
  expect(collapsedPart((await openForm('plain', PRICE)).body, PRICE)).toMatch(/^<details[^>]* open/);
  // A model that is not priced per token shows its own unit.
  await createModel('spoken', {}, 'transcription');
  expect(collapsedPart((await openForm('spoken', PRICE)).body, PRICE)).toMatch(/^<details[^>]* open/);
});

test('an error in a collapsed rate is shown with the submitted value', async () => {
  await createModel('wrong', { input_price: 1, output_price: 2 });
  const refusal = await submitForm('wrong', PRICE, { image_price: 'much' });
  expect(refusal.status).toBe(422);
  const rates = collapsedPart(refusal.body, PRICE);
  expect(rates).toMatch(/^<details[^>]* open/);
  expect(rates).toContain('value="much"');
  expect(rates).toContain('aria-invalid="true"');
});

test('a schedule starts from the current price, sets every rate and omits cleared ones', async () => {
  await createModel('timed', { input_price: 1, output_price: 2, cache_read_price: 0.5, reasoning_price: 3 });
  const action = schedulesOf('timed');
  const span = (year: number) => ({ starts_at: `${year}-01-01T00:00`, ends_at: `${year}-02-01T00:00` });
  expect(
    (await submitForm('timed', action, { ...span(2080), input_price: '0.8', reasoning_price: '' })).status,
  ).toBe(303);
  expect((await submitForm('timed', action, { ...span(2081), ...allRates })).status).toBe(303);
  expect((await fixture.admin.get(action)).json['schedules']).toMatchObject([
    { price: { input_price: 0.8, output_price: 2, cache_read_price: 0.5, reasoning_price: null } },
    { price: numbers },
  ]);
  expect(await currentPrice('timed')).toMatchObject({ input_price: 1, reasoning_price: 3 });
});

test('a form with only empty fields is refused, so that no model becomes free by omission', async () => {
  await createModel('unpriced', {}, 'transcription');
  expect((await submitForm('unpriced', PRICE, {})).status).toBe(422);
  const span = { starts_at: '2080-01-01T00:00', ends_at: '' };
  expect((await submitForm('unpriced', schedulesOf('unpriced'), span)).status).toBe(422);
  expect(await currentPrice('unpriced')).toBeNull();
  expect((await submitForm('unpriced', PRICE, { ppm_price: '0.006' })).status).toBe(303);
  expect(await currentPrice('unpriced')).toMatchObject({ ppm_price: 0.006, input_price: 0 });
});
