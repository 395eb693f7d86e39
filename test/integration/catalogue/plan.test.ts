import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import {
  applyGatewayFile,
  applyPriceList,
  planGatewayFile,
  planPriceList,
  readGatewayText,
  readPriceList,
} from '#product/catalogue';
import { keyFields } from '#product/keys';
import { AddressGuard, MasterKeys, SecretBox } from '#product/platform';
import { SupplierStyles } from '#product/routing';
import { CatalogueFixture } from './catalogue-fixture';

/** Used like a page: uploaded texts, a displayed plan, and a user who approves it. */
let catalogueFixture: CatalogueFixture;
beforeAll(async () => {
  catalogueFixture = await CatalogueFixture.open();
});
afterAll(() => catalogueFixture.close());

const box = new SecretBox(MasterKeys.parse(randomBytes(32).toString('base64')));
const options = { file: 'upload.yaml', prune: false, box };
const actor = 'user 12';
const fileOf = (price: number): ReturnType<typeof readGatewayText> =>
  readGatewayText(
    `version: 1
providers:
  one: { style: openai-style, base_url: "https://one.example/v1", regions: [eu], settings: { anonymous: true } }
models:
  small: { lanes: [{ provider: one, model: up, region: eu }], price: { input: ${price}, output: 2 } }
`,
    null,
    { guard: new AddressGuard([]), proxyNames: [], styles: new SupplierStyles(), keyFields },
  );
const priceSources = async (): Promise<string[] | undefined> =>
  (await catalogueFixture.snapshot()).model('small')?.prices.map(({ source }) => source);

test('a file plan has one row per object and is applied only on approval, with the approver as source', async () => {
  const shownPlan = await planGatewayFile(catalogueFixture.database, fileOf(1), options);
  expect(shownPlan.rows.map(({ kind, name, mark }) => [mark, kind, name])).toEqual([
    ['new', 'provider', 'one'],
    ['new', 'model', 'small'],
  ]);
  expect(shownPlan.rows[1]?.changes).toContainEqual({ field: 'price input', before: null, after: '$1' });
  expect(await priceSources()).toBeUndefined();
  const approval = { ...options, actor, shown: shownPlan.fingerprint };
  expect(await applyGatewayFile(catalogueFixture.database, fileOf(1), approval)).toEqual(shownPlan);
  expect(await priceSources()).toEqual(['file upload.yaml by user 12']);
  // The catalogue has changed, so the approval is outdated.
  await expect(applyGatewayFile(catalogueFixture.database, fileOf(1), approval)).rejects.toMatchObject({
    code: 'conflict',
  });
});

test('a file plan is refused when the catalogue has changed since it was shown', async () => {
  const shownPlan = await planGatewayFile(catalogueFixture.database, fileOf(3), options);
  expect(shownPlan.rows).toEqual([
    {
      kind: 'model',
      name: 'small',
      mark: 'changed',
      changes: [{ field: 'price input', before: '$1', after: '$3' }],
    },
  ]);
  await catalogueFixture.database.query("UPDATE model SET display_order = 9 WHERE name = 'small'");
  const approval = { ...options, actor, shown: shownPlan.fingerprint };
  await expect(applyGatewayFile(catalogueFixture.database, fileOf(3), approval)).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(await priceSources()).toEqual(['file upload.yaml by user 12']);
});

test('a price list plan is applied on approval with the approver as source, and refused when outdated', async () => {
  const list = readPriceList(
    'models-dev',
    '{"one": {"models": {"up": {"cost": {"input": 5, "output": 2}}, "more": {"cost": {"input": 1, "output": 1}}}}}',
  );
  const choice = { format: 'models-dev', providers: ['one'], overwrite: true } as const;
  const shownPlan = await planPriceList(catalogueFixture.database, list, choice);
  expect(shownPlan.rows.map(({ mark, name }) => [mark, name])).toEqual([
    ['changed', 'small'],
    ['new', 'more'],
  ]);
  const approval = { ...choice, actor, shown: shownPlan.fingerprint };
  expect(await applyPriceList(catalogueFixture.database, list, approval)).toEqual(shownPlan);
  expect((await priceSources())?.[0]).toBe('import models-dev by user 12');
  await expect(applyPriceList(catalogueFixture.database, list, approval)).rejects.toMatchObject({
    code: 'conflict',
  });
  await expect(
    planPriceList(catalogueFixture.database, list, { ...choice, providers: ['on'] }),
  ).rejects.toMatchObject({
    code: 'invalid_provider',
  });
});
