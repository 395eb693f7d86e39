import 'reflect-metadata';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getMetadataArgsStorage } from 'typeorm';
import { ModelChangeForm, PriceForm, ScheduleForm } from '../../../src/admin/catalogue/catalogue.dto';
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

const dollarsAt = (place: number): string => String(place + 1);
const form = Object.fromEntries(RATES.map(({ field }, place) => [field, dollarsAt(place)]));
/** Every rate has a distinct amount. */
const price = priceRates(ratesOfForm(form));

test('rate names are unique, and every usage bucket has one rate', () => {
  for (const key of ['name', 'word', 'field'] as const)
    expect(new Set(RATES.map((rate) => rate[key])).size).toBe(RATES.length);
  expect(TOKEN_RATES.map(({ bucket }) => bucket).sort()).toEqual([...USAGE_BUCKETS].sort());
});

test('fallback of a rate is listed before it and is charged when the rate is unset', () => {
  TOKEN_RATES.forEach(({ name, bucket, fallback }, place) => {
    if (fallback === null) return;
    const fallbackRate = TOKEN_RATES.slice(0, place).find((rate) => rate.name === fallback);
    expect([name, fallbackRate?.name]).toEqual([name, fallback]);
    const resolved = resolveRates(priceRates({ ...price, [name]: null }));
    expect([name, resolved[bucket]]).toEqual([name, price[fallback]]);
  });
});

test.each(RATES)(
  '$name is a field of the forms, the JSON and the database table',
  ({ name, word, field }) => {
    for (const formClass of [PriceForm, ModelChangeForm, ScheduleForm])
      expect(schemaOfForm(formClass)).toMatchObject({
        properties: { [field]: { type: ['number', 'string'] } },
      });
    expect(pricesOf(price, formatUsd)[field]).toBe(form[field]);
    const columns = getMetadataArgsStorage().columns.filter(
      ({ target, propertyName }) =>
        propertyName === name && typeof target === 'function' && Price.prototype instanceof target,
    );
    expect(columns.map(({ options }) => options)).toEqual([
      expect.objectContaining({ name: word, type: 'bigint' }),
    ]);
    expect(ratesOf(columnsOf(price))[name]).toBe(price[name]);
  },
);

test('every rate is documented in gateway.yaml and read from it', () => {
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
  RATES.forEach(({ word }, place) => expect(text).toContain(`\n      ${word}: ${dollarsAt(place)}\n`));
  const advisers = { guard: new AddressGuard([]), proxyNames: [], styles: new SupplierStyles(), keyFields };
  const { faults, desired } = readGatewayText(text, { environment: {}, folder }, advisers);
  expect(faults).toEqual([]);
  expect(desired.models.map((one) => one.price?.rates)).toEqual([price]);
});

describe('Rate fields of a page', () => {
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
    const pageModel = { price: rates === null ? null : { rates }, model: { kind: 'chat' } };
    return engine.render('pages/rates', rateFields('price', pageModel), { ...defaultViewContext(), locale });
  };

  test.each(locales)('every rate is displayed with its amount and a unique label: %s', async (locale) => {
    const html = await render(price, locale);
    RATES.forEach(({ field }, place) => {
      expect(html).toMatch(new RegExp(`<input [^>]*name="${field}"[^>]* value="${dollarsAt(place)}"`));
    });
    const labels = [...html.matchAll(/<label[^>]*>([^<]*)</g)].map(([, label = '']) => label);
    expect(new Set(labels).size).toBe(RATES.length);
    expect(labels.filter((label) => label === '' || label.includes('catalogue.'))).toEqual([]);
    expect(html).toMatch(/<details open>/);
  });

  test('empty rates name the rate that they fall back to', async () => {
    const html = await render(null, 'en');
    expect(html.match(/Same as “[^”]+”/g)).toHaveLength(
      RATES.filter(({ fallback }) => fallback !== null).length,
    );
    expect(html).toMatch(/<details>/);
  });
});
