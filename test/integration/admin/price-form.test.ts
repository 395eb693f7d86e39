import { formsOf, type PageForm } from '../../support/page-forms';
import type { RawAnswer } from '../web/raw-exchange';
import { AdminHouse } from './admin-house';

let house: AdminHouse;
beforeAll(async () => {
  house = await AdminHouse.open();
});
afterAll(() => house.close());

const PRICE = '/dashboard/admin/model-prices/update';
const page = (model: string): string => `/dashboard/admin/models/edit?model=${model}`;
const schedulesOf = (model: string): string => `/dashboard/admin/models/${model}/price-schedule`;

/** Ten kinds of tokens, each at a price of its own, a call and a minute of audio. */
const every = {
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
const numbers = Object.fromEntries(Object.entries(every).map(([name, text]) => [name, Number(text)]));
const own = Object.keys(every).filter(
  (name) => !['input_price', 'output_price', 'ppm_price', 'per_call_price'].includes(name),
);

const make = (model: string, rates: object, kind = 'chat') =>
  house.admin.post('/dashboard/admin/models/create', { model, kind, owned_by: 'tests', ...rates });

async function opened(model: string, action: string): Promise<{ form: PageForm; body: string }> {
  const { status, body } = await house.admin.page(page(model));
  const form = formsOf(body).find((one) => one.action === action);
  if (status !== 200 || form === undefined) throw new Error(`${page(model)} has no form for ${action}`);
  return { form, body };
}

/** The form is sent as the page filled it in, with the changes that a person made to it. */
async function send(model: string, action: string, typed: Record<string, string>): Promise<RawAnswer> {
  const { form } = await opened(model, action);
  const fields = new URLSearchParams(
    form.fields.filter(({ isSent }) => isSent).map(({ name, value }): [string, string] => [name, value]),
  );
  expect(Object.keys(typed).filter((name) => !fields.has(name))).toEqual([]);
  for (const [name, value] of Object.entries(typed)) fields.set(name, value);
  return house.admin.form(action, fields);
}

const inForce = async (model: string) => (await house.admin.get(schedulesOf(model))).json['price'];

/** The part of a form that is folded away until one asks for it. */
const folded = (body: string, action: string): string =>
  /<details\b[^]*?<\/details>/.exec(body.slice(body.indexOf(`action="${action}"`)))?.[0] ?? '';

test('the page sets every rate of a price, and a rate that is emptied falls back again', async () => {
  await make('whole', { input_price: 9, output_price: 9 });
  expect((await send('whole', PRICE, every)).status).toBe(303);
  expect(await inForce('whole')).toMatchObject(numbers);
  // A field that the person leaves alone stays, to the last digit.
  expect((await send('whole', PRICE, { input_price: '1.5' })).status).toBe(303);
  expect(await inForce('whole')).toMatchObject({ ...numbers, input_price: 1.5 });
  for (const name of own) {
    expect((await send('whole', PRICE, { [name]: '' })).status).toBe(303);
    expect(await inForce('whole')).toMatchObject({ [name]: null });
  }
  const { form, body } = await opened('whole', PRICE);
  expect(form.fields.filter(({ name }) => own.includes(name)).map(({ value }) => value)).toEqual(
    own.map(() => ''),
  );
  expect(body).toContain('Same as “Input”');
  expect(body).toContain('Same as “Cache write”');
});

test('the usual rates are in sight; the others are folded away until one of them is set', async () => {
  await make('plain', { input_price: 1, output_price: 2, cache_read_price: 0.5 });
  const closed = folded((await opened('plain', PRICE)).body, PRICE);
  for (const name of ['input_price', 'output_price', 'cache_read_price', 'cache_write_price'])
    expect(closed).not.toContain(`name="${name}"`);
  expect(closed.match(/ name="\w+_price"/g)).toHaveLength(8);
  expect(closed).toMatch(/^<details[^>]*><summary>Further rates</);
  expect(closed).not.toMatch(/^<details[^>]* open/);
  await send('plain', PRICE, { reasoning_price: '4' });
  expect(folded((await opened('plain', PRICE)).body, PRICE)).toMatch(/^<details[^>]* open/);
  // A model that is not sold by tokens shows what it is sold by.
  await make('spoken', {}, 'transcription');
  expect(folded((await opened('spoken', PRICE)).body, PRICE)).toMatch(/^<details[^>]* open/);
});

test('what is wrong in a folded rate is shown, with what was typed', async () => {
  await make('wrong', { input_price: 1, output_price: 2 });
  const refused = await send('wrong', PRICE, { image_price: 'much' });
  expect(refused.status).toBe(422);
  const shown = folded(refused.body, PRICE);
  expect(shown).toMatch(/^<details[^>]* open/);
  expect(shown).toContain('value="much"');
  expect(shown).toContain('aria-invalid="true"');
});

test('a schedule starts from the price in force, sets every rate, and leaves out what is emptied', async () => {
  await make('timed', { input_price: 1, output_price: 2, cache_read_price: 0.5, reasoning_price: 3 });
  const action = schedulesOf('timed');
  const span = (year: number) => ({ starts_at: `${year}-01-01T00:00`, ends_at: `${year}-02-01T00:00` });
  expect(
    (await send('timed', action, { ...span(2080), input_price: '0.8', reasoning_price: '' })).status,
  ).toBe(303);
  expect((await send('timed', action, { ...span(2081), ...every })).status).toBe(303);
  expect((await house.admin.get(action)).json['schedules']).toMatchObject([
    { price: { input_price: 0.8, output_price: 2, cache_read_price: 0.5, reasoning_price: null } },
    { price: numbers },
  ]);
  expect(await inForce('timed')).toMatchObject({ input_price: 1, reasoning_price: 3 });
});

test('empty fields alone are no price: nothing becomes free by omission', async () => {
  await make('unpriced', {}, 'transcription');
  expect((await send('unpriced', PRICE, {})).status).toBe(422);
  const span = { starts_at: '2080-01-01T00:00', ends_at: '' };
  expect((await send('unpriced', schedulesOf('unpriced'), span)).status).toBe(422);
  expect(await inForce('unpriced')).toBeNull();
  expect((await send('unpriced', PRICE, { ppm_price: '0.006' })).status).toBe(303);
  expect(await inForce('unpriced')).toMatchObject({ ppm_price: 0.006, input_price: 0 });
});
