import 'reflect-metadata';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getMetadataArgsStorage } from 'typeorm';
import { ModelChangeForm, PriceForm, ScheduleForm } from '../../../src/admin/catalogue/forms';
import { pricesOf } from '../../../src/admin/catalogue/present';
import { rateFields } from '../../../src/admin/catalogue/rate-fields';
import { ratesOfForm } from '../../../src/admin/catalogue/read-forms';
import { ratesOf } from '../../../src/catalogue';
import { Price } from '../../../src/catalogue/entities';
import { modelFields } from '../../../src/catalogue/entities/model-fields';
import type { CurrentCatalogue } from '../../../src/catalogue/plan/current.query';
import { readGatewayText } from '../../../src/catalogue/plan/gateway-file/read-file';
import { gatewayText } from '../../../src/catalogue/plan/gateway-file/write-file';
import { columnsOf } from '../../../src/catalogue/price-codec';
import { formatUsd, priceRates, RATES, resolveRates, TOKEN_RATES, USAGE_BUCKETS } from '../../../src/kernel';
import { keyFields } from '../../../src/keys';
import { AddressGuard } from '../../../src/platform';
import { SupplierStyles } from '../../../src/routing';
import { createViewEngine, defaultViewContext, locales } from '../../../src/views';
import { schemaOfForm } from '../../../src/web/openapi/schema-of-form';

const project = join(__dirname, '..', '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'rates-'));
afterAll(() => rmSync(folder, { recursive: true }));

const dollarsOf = (place: number): string => String(place + 1);
const form = Object.fromEntries(RATES.map(({ field }, place) => [field, dollarsOf(place)]));
/** Every rate has an amount of its own. */
const price = priceRates(ratesOfForm(form));

test('names stand once, and every bucket of usage has one rate', () => {
  for (const key of ['name', 'word', 'field'] as const)
    expect(new Set(RATES.map((rate) => rate[key])).size).toBe(RATES.length);
  expect(TOKEN_RATES.map(({ bucket }) => bucket).sort()).toEqual([...USAGE_BUCKETS].sort());
});

test('what a rate falls back to stands above it, and is charged in its place', () => {
  TOKEN_RATES.forEach(({ name, bucket, fallback }, place) => {
    if (fallback === null) return;
    const instead = TOKEN_RATES.slice(0, place).find((rate) => rate.name === fallback);
    expect([name, instead?.name]).toEqual([name, fallback]);
    const resolved = resolveRates(priceRates({ ...price, [name]: null }));
    expect([name, resolved[bucket]]).toEqual([name, price[fallback]]);
  });
});

test.each(RATES)('$name is a field of the forms, of JSON and of the table', ({ name, word, field }) => {
  for (const one of [PriceForm, ModelChangeForm, ScheduleForm])
    expect(schemaOfForm(one)).toMatchObject({ properties: { [field]: { type: ['number', 'string'] } } });
  expect(pricesOf(price, formatUsd)[field]).toBe(form[field]);
  const columns = getMetadataArgsStorage().columns.filter(
    ({ target, propertyName }) =>
      propertyName === name && typeof target === 'function' && Price.prototype instanceof target,
  );
  expect(columns.map(({ options }) => options)).toEqual([
    expect.objectContaining({ name: word, type: 'bigint' }),
  ]);
  expect(ratesOf(columnsOf(price))[name]).toBe(price[name]);
});

test('all of them stand in gateway.yaml, and are read from it', () => {
  const model = {
    name: 'm',
    ...modelFields.pick({ displayName: 'm', ownedBy: 'tests' }),
    lanes: [],
    schedules: [],
    redirect: null,
    overflow: null,
  };
  const text = gatewayText({
    providers: new Map(),
    models: new Map([['m', { ...model, price: { rates: price } }]]),
    aliases: new Map(),
    organisations: new Map(),
  } as unknown as CurrentCatalogue);
  RATES.forEach(({ word }, place) => expect(text).toContain(`\n      ${word}: ${dollarsOf(place)}\n`));
  const advisers = { guard: new AddressGuard([]), proxyNames: [], styles: new SupplierStyles(), keyFields };
  const { faults, desired } = readGatewayText(text, { environment: {}, folder }, advisers);
  expect(faults).toEqual([]);
  expect(desired.models.map((one) => one.price?.rates)).toEqual([price]);
});

describe('the fields of a page', () => {
  const render = async (rates: typeof price | null, locale: (typeof locales)[number]): Promise<string> => {
    cpSync(join(project, 'views', 'partials'), join(folder, 'partials'), { recursive: true });
    mkdirSync(join(folder, 'pages'), { recursive: true });
    writeFileSync(join(folder, 'pages', 'rates.hbs'), '{{> rate-fields this}}');
    const engine = await createViewEngine({
      viewsFolder: folder,
      publicFolder: join(project, 'public'),
      localesFolder: join(project, 'locales'),
      cache: true,
      brandName: 'Brand',
    });
    const sheet = { price: rates === null ? null : { rates }, model: { kind: 'chat' } };
    return engine.render('pages/rates', rateFields('price', sheet), { ...defaultViewContext(), locale });
  };

  test.each(locales)('every rate stands there with its amount and a label of its own: %s', async (locale) => {
    const html = await render(price, locale);
    RATES.forEach(({ field }, place) => {
      expect(html).toMatch(new RegExp(`<input [^>]*name="${field}"[^>]* value="${dollarsOf(place)}"`));
    });
    const labels = [...html.matchAll(/<label[^>]*>([^<]*)</g)].map(([, label = '']) => label);
    expect(new Set(labels).size).toBe(RATES.length);
    expect(labels.filter((label) => label === '' || label.includes('catalogue.'))).toEqual([]);
    expect(html).toMatch(/<details open>/);
  });

  test('without amounts, each that can fall back says to what', async () => {
    const html = await render(null, 'en');
    expect(html.match(/Same as “[^”]+”/g)).toHaveLength(
      RATES.filter(({ fallback }) => fallback !== null).length,
    );
    expect(html).toMatch(/<details>/);
  });
});
