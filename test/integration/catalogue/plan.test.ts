import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import {
  CredentialEditor,
  CredentialKeeper,
  GatewayFilePlanner,
  PriceListPlanner,
  readGatewayText,
  readPriceList,
} from '#product/catalogue';
import { keyFields } from '#product/keys';
import { AddressGuard, MasterKeys, SecretBox } from '#product/platform';
import { SupplierStyles } from '#product/routing';
import { CatalogueHouse } from './catalogue-house';

/** As a page calls it: texts that were uploaded, a plan that is shown, and somebody who approves it. */
let here: CatalogueHouse;
let files: GatewayFilePlanner;
let lists: PriceListPlanner;
beforeAll(async () => {
  here = await CatalogueHouse.open();
  const { database, editor, prices } = here;
  const box = new SecretBox(MasterKeys.parse(randomBytes(32).toString('base64')));
  const keeper = new CredentialKeeper(box, new CredentialEditor(box));
  files = new GatewayFilePlanner(database, keeper, editor, prices);
  lists = new PriceListPlanner(database, editor, prices);
});
afterAll(() => here.close());

const options = { file: 'upload.yaml', prune: false };
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
const sources = async (): Promise<string[] | undefined> =>
  (await here.snapshot()).model('small')?.prices.map(({ source }) => source);

test('a file: one row a thing, nothing kept before it is approved, and then the name of the approver', async () => {
  const shown = await files.plan(fileOf(1), options);
  expect(shown.rows.map(({ kind, name, mark }) => [mark, kind, name])).toEqual([
    ['new', 'provider', 'one'],
    ['new', 'model', 'small'],
  ]);
  expect(shown.rows[1]?.changes).toContainEqual({ field: 'price input', before: null, after: '$1' });
  expect(await sources()).toBeUndefined();
  const approval = { ...options, actor, shown: shown.fingerprint };
  expect(await files.apply(fileOf(1), approval)).toEqual(shown);
  expect(await sources()).toEqual(['file upload.yaml by user 12']);
  // The same approval again meets another catalogue.
  await expect(files.apply(fileOf(1), approval)).rejects.toMatchObject({
    code: 'conflict',
  });
});

test('a file whose catalogue has changed since it was shown is not applied', async () => {
  const shown = await files.plan(fileOf(3), options);
  expect(shown.rows).toEqual([
    {
      kind: 'model',
      name: 'small',
      mark: 'changed',
      changes: [{ field: 'price input', before: '$1', after: '$3' }],
    },
  ]);
  await here.database.query("UPDATE model SET display_order = 9 WHERE name = 'small'");
  const approval = { ...options, actor, shown: shown.fingerprint };
  await expect(files.apply(fileOf(3), approval)).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(await sources()).toEqual(['file upload.yaml by user 12']);
});

test('a price list: shown, approved, marked with its approver, and refused when it is out of date', async () => {
  const list = readPriceList(
    'models-dev',
    '{"one": {"models": {"up": {"cost": {"input": 5, "output": 2}}, "more": {"cost": {"input": 1, "output": 1}}}}}',
  );
  const choice = { format: 'models-dev', providers: ['one'], overwrite: true } as const;
  const shown = await lists.plan(list, choice);
  expect(shown.rows.map(({ mark, name }) => [mark, name])).toEqual([
    ['changed', 'small'],
    ['new', 'more'],
  ]);
  const approval = { ...choice, actor, shown: shown.fingerprint };
  expect(await lists.apply(list, approval)).toEqual(shown);
  expect((await sources())?.[0]).toBe('import models-dev by user 12');
  await expect(lists.apply(list, approval)).rejects.toMatchObject({ code: 'conflict' });
  await expect(lists.plan(list, { ...choice, providers: ['on'] })).rejects.toMatchObject({
    code: 'invalid_provider',
  });
});
