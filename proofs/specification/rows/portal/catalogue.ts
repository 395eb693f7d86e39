import { expect } from '../../../operations/http';
import type { World } from '../../../operations/world';
import { row, type SpecificationRow } from '../../row';
import { newProvider } from './states';
import {
  ADMIN,
  type Json,
  callTo,
  call,
  equal,
  expectFrom,
  uniqueName,
  inHtml,
  expectRedirect,
  newModel,
  okHtml,
  okJson,
  platform,
  expectRejected,
  refusesAnonymous,
  waitUntilServed,
  waitForCatalogue,
} from './row-helpers';

const priceOf = async (world: World, model: string): Promise<Json> =>
  okJson(await (await platform(world)).get(`${ADMIN}/models/${model}/price-schedule`))['price'] as Json;

const prices: readonly SpecificationRow[] = [
  row('9.5', `\`GET ${ADMIN}/prices\` leads to \`${ADMIN}/models\``, async (world) =>
    expectRedirect(await (await platform(world)).get(`${ADMIN}/prices`), `${ADMIN}/models`),
  ),
  row('4.10', `\`POST ${ADMIN}/prices\` updates a price`, async (world) => {
    const model = await newModel(world);
    okJson(await (await platform(world)).post(`${ADMIN}/prices`, { json: { model, input_price: '1.25' } }));
    equal((await priceOf(world, model))['input_price'], 1.25, 'the price');
  }),
  ...(['input_price', 'output_price', 'ppm_price'] as const).map((name) =>
    row(
      '4.10',
      `\`POST ${ADMIN}/model-prices/update\` updates the ${name.split('_')[0]} price of a model`,
      async (world) => {
        const model = await newModel(world);
        const before = await priceOf(world, model);
        const json = { model, [name]: '0.75' };
        okJson(await (await platform(world)).post(`${ADMIN}/model-prices/update`, { json }));
        const after = await priceOf(world, model);
        equal(after[name], 0.75, 'the price');
        const others = ['input_price', 'output_price', 'ppm_price'].filter((other) => other !== name);
        equal(
          others.map((other) => after[other]),
          others.map((other) => before[other]),
          'the other prices',
        );
      },
    ),
  ),
];

const providers: readonly SpecificationRow[] = [
  row('4.10', `\`POST ${ADMIN}/providers\` creates a provider`, async (world) => {
    const { id, name } = await newProvider(world);
    okHtml(await (await platform(world)).get(`${ADMIN}/models?tab=providers`, inHtml), name);
    equal(
      okJson(await (await platform(world)).get(`${ADMIN}/providers/${id}/visibility-info`))['name'],
      name,
      'it is there',
    );
  }),
  row('4.10', `\`POST ${ADMIN}/providers/{provider_id}/update\` updates a provider`, async (world) => {
    const { id } = await newProvider(world);
    const name = uniqueName('renamed');
    const client = await platform(world);
    okJson(await client.post(`${ADMIN}/providers/${id}/update`, { json: { name } }));
    equal(okJson(await client.get(`${ADMIN}/providers/${id}/visibility-info`))['name'], name, 'the name');
  }),
  row(
    '4.10',
    `\`POST ${ADMIN}/providers/{provider_id}/delete\` deletes a provider without models`,
    async (world) => {
      const { id } = await newProvider(world);
      const client = await platform(world);
      okJson(await client.post(`${ADMIN}/providers/${id}/delete`, { json: {} }));
      expectRejected(await client.get(`${ADMIN}/providers/${id}/visibility-info`), 404, 'not_found');
    },
  ),
  row(
    '4.10',
    `\`POST ${ADMIN}/providers/{provider_id}/delete\` refuses a provider to which models are assigned`,
    async (world) => {
      const { id, name } = await newProvider(world);
      await newModel(world, { lanes: [{ provider: name, upstream_model: 'one', region: 'local' }] });
      const client = await platform(world);
      expectRejected(await client.post(`${ADMIN}/providers/${id}/delete`, { json: {} }), 409, 'conflict');
      equal(
        okJson(await client.get(`${ADMIN}/providers/${id}/visibility-info`))['name'],
        name,
        'it is still there',
      );
    },
  ),
  row(
    '4.10',
    `\`GET ${ADMIN}/providers/{provider_id}/visibility-info\` counts the models that a change affects`,
    async (world) => {
      const { id, name } = await newProvider(world);
      const lane = { provider: name, upstream_model: 'one', region: 'local' };
      await newModel(world, { lanes: [lane] });
      await newModel(world, {
        lanes: [lane, { provider: 'sandbox', upstream_model: 'sim-small', region: 'local' }],
      });
      const info = okJson(await (await platform(world)).get(`${ADMIN}/providers/${id}/visibility-info`));
      equal(
        [info['models'], info['moves_to_backup'], info['without_backup']],
        [2, 1, 1],
        'models, with a backup, without',
      );
    },
  ),
  row(
    '4.10',
    `\`POST ${ADMIN}/providers/{provider_id}/visibility\` hides and unhides a provider`,
    async (world) => {
      const { id, name } = await newProvider(world);
      const model = await newModel(world, {
        lanes: [{ provider: name, upstream_model: 'one', region: 'local' }],
      });
      const client = await platform(world);
      const key = await world.newKey(await world.person('user'));
      for (const visible of [false, true]) {
        okJson(await client.post(`${ADMIN}/providers/${id}/visibility`, { json: { visible } }));
        equal(
          okJson(await client.get(`${ADMIN}/providers/${id}/visibility-info`))['visible'],
          visible,
          'visible',
        );
        await waitForCatalogue(world);
        const { data } = okJson(await key.client.get('/v1/models')) as { data: Json[] };
        equal(
          data.some((one) => one['id'] === model),
          visible,
          'whether its model is listed for callers',
        );
      }
    },
  ),
  row(
    '4.10',
    `\`POST ${ADMIN}/providers/test\` tests the connection before anything is saved`,
    async (world) => {
      const [sandbox] = await world.rows<{ id: number }>("SELECT id FROM provider WHERE name = 'sandbox'");
      const client = await platform(world);
      const json = { provider_id: sandbox?.id, upstream_model: 'sim-small', region: 'local' };
      equal(okJson(await client.post(`${ADMIN}/providers/test`, { json }))['ok'], true, 'one that answers');
      const name = uniqueName('unsaved');
      const other = {
        name,
        style: 'openai-style',
        base_url: 'http://127.0.0.1:9/v1',
        secret: 'sk-0123456789',
        upstream_model: 'm',
      };
      equal(
        okJson(await client.post(`${ADMIN}/providers/test`, { json: other }))['ok'],
        false,
        'one that does not',
      );
      equal((await world.rows('SELECT 1 FROM provider WHERE name = $1', [name])).length, 0, 'what was saved');
    },
  ),
];

const schedule = (model: string) => `${ADMIN}/models/${model}/price-schedule`;
const running = { starts_at: '2020-01-01T00:00:00Z', ends_at: '2090-01-01T00:00:00Z', input_price: '0.5' };

const models: readonly SpecificationRow[] = [
  row('4.10', `\`GET ${ADMIN}/models\` is the page of models and providers, with tabs`, async (world) => {
    const client = await platform(world);
    okHtml(await client.get(`${ADMIN}/models?q=sim-small`), '>sim-small</a>');
    const page = okHtml(await client.get(`${ADMIN}/models`));
    for (const tab of ['providers', 'prices', 'aliases']) {
      expect(page.includes(`tab=${tab}`), `there is a tab of ${tab}`);
      okHtml(await client.get(`${ADMIN}/models?tab=${tab}`));
    }
  }),
  row(
    '4.10',
    `\`POST ${ADMIN}/models/update\` updates the pricing, the metadata and the providers of a model`,
    async (world) => {
      const model = await newModel(world);
      const lanes = [{ provider: 'sandbox', upstream_model: 'sim-large', region: 'local' }];
      const json = { model, display_name: 'Renamed', input_price: '3', lanes };
      const update = okJson(await (await platform(world)).post(`${ADMIN}/models/update`, { json }));
      equal(update['display_name'], 'Renamed', 'metadata');
      equal((await priceOf(world, model))['input_price'], 3, 'the price');
      const [lane] = update['lanes'] as Json[];
      equal([lane?.['provider'], lane?.['upstream_model']], ['sandbox', 'sim-large'], 'the provider');
    },
  ),
  row(
    '4.10',
    `\`GET ${ADMIN}/models/{model}/price-schedule\` answers the active price schedule`,
    async (world) => {
      const model = await newModel(world);
      const client = await platform(world);
      equal(okJson(await client.get(schedule(model)))['active'], null, 'without one');
      const { id } = okJson(await client.post(schedule(model), { json: running }));
      const active = okJson(await client.get(schedule(model)))['active'] as Json;
      equal([active['id'], (active['price'] as Json)['input_price']], [id, 0.5], 'the active one');
    },
  ),
  row(
    '4.10',
    `\`POST ${ADMIN}/models/{model}/price-schedule\` makes a schedule, or changes the one that is there`,
    async (world) => {
      const model = await newModel(world);
      const client = await platform(world);
      const { id } = okJson(await client.post(schedule(model), { json: running }));
      const repeat = okJson(
        await client.post(schedule(model), { json: { ...running, id, input_price: '0.25' } }),
      );
      equal(repeat['id'], id, 'the same schedule');
      const { schedules } = okJson(await client.get(schedule(model))) as { schedules: Json[] };
      equal(
        schedules.map(({ price }) => (price as Json)['input_price']),
        [0.25],
        'the schedules',
      );
    },
  ),
  ...(['GET', 'POST'] as const).map((method) =>
    row(
      '4.10',
      `\`${method} ${ADMIN}/models/{model}/price-schedule\` is for administrators of the platform only`,
      async (world) => {
        const scheduleRequest = async () => ({ path: schedule(await newModel(world)), json: running });
        await refusesAnonymous(world, async (client) => {
          const { path, json } = await scheduleRequest();
          return client.send(method, path, method === 'GET' ? {} : { json });
        });
        await expectFrom(world, 'platform_admin', async ({ client }) => {
          const { path, json } = await scheduleRequest();
          return client.send(method, path, method === 'GET' ? {} : { json });
        });
      },
    ),
  ),
  row(
    '4.10',
    `\`DELETE ${ADMIN}/models/{model}/price-schedule/{schedule_id}\` deletes a schedule`,
    async (world) => {
      const model = await newModel(world);
      const client = await platform(world);
      const json = { starts_at: '2080-01-01T00:00:00Z', input_price: '0.5' };
      const { id } = okJson(await client.post(schedule(model), { json }));
      okJson(await client.delete(`${schedule(model)}/${String(id)}`));
      equal(okJson(await client.get(schedule(model)))['schedules'], [], 'the schedules');
    },
  ),
  row(
    '4.10',
    '`POST /admin/models/{model}/ensure-admin-fixture` creates a fixture, and repairs one',
    async (world) => {
      const client = await platform(world);
      const name = uniqueName('fixture');
      const path = `/admin/models/${name}/ensure-admin-fixture`;
      const results = [okJson(await client.post(path, { json: {} }))['result']];
      results.push(okJson(await client.post(path, { json: {} }))['result']);
      okJson(await client.post(`${ADMIN}/model-prices/delete`, { json: { model: name } }));
      results.push(okJson(await client.post(path, { json: {} }))['result']);
      equal(results, ['created', 'unchanged', 'repaired'], 'each time');
    },
  ),
  row(
    '4.10',
    'The admin fixture is not routable, whatever is done to it: `POST /v1/chat/completions` refuses it',
    async (world) => {
      const client = await platform(world);
      const name = uniqueName('fixture');
      okJson(await client.post(`/admin/models/${name}/ensure-admin-fixture`, { json: {} }));
      const access = { model: name, org_id: world.organisationId, allowed: true };
      await client.post(`${ADMIN}/api/model-org-access`, { json: access });
      const key = await world.newKey(await world.person('user'));
      const lanes = [{ provider: 'sandbox', upstream_model: 'sim-small', region: 'local' }];
      for (const [path, more] of [
        ['model-prices/state', { state: 'active' }],
        ['model-prices/update', { input_price: '1', output_price: '1' }],
        ['models/update', { lanes }],
        ['model-prices/redirect', { redirect_to: 'sim-small' }],
      ] as const) {
        await client.post(`${ADMIN}/${path}`, { json: { model: name, ...more } });
        await waitForCatalogue(world);
        const { status } = await call(key.client, name);
        expect(status >= 400 && status < 500, `it is refused after ${path}: ${status}`);
      }
    },
  ),
  row(
    '4.10',
    `\`POST ${ADMIN}/models/reorder\` updates \`display_order\` of many models at once`,
    async (world) => {
      const names = [await newModel(world), await newModel(world), await newModel(world)];
      const reversedNames = names.toReversed();
      const client = await platform(world);
      okJson(await client.post(`${ADMIN}/models/reorder`, { json: { order: reversedNames } }));
      const rows = await world.rows<{ name: string }>(
        'SELECT name FROM model WHERE name = ANY ($1) ORDER BY display_order',
        [names],
      );
      equal(
        rows.map(({ name }) => name),
        reversedNames,
        'the order',
      );
    },
  ),
  row(
    '4.10',
    '`POST /admin/models/{model}/replay-inclusion` keeps the replay preference of a model',
    async (world) => {
      const model = await newModel(world);
      const client = await platform(world);
      for (const included of [true, false]) {
        const answer = okJson(
          await client.post(`/admin/models/${model}/replay-inclusion`, { json: { included } }),
        );
        equal(answer['replay_included'], included, 'the preference');
        const storedModels = await world.rows<Json>('SELECT replay_included FROM model WHERE name = $1', [
          model,
        ]);
        equal(storedModels, [{ replay_included: included }], 'what is kept');
      }
    },
  ),
  row(
    '4.10',
    '`POST /admin/models/{model}/replay-inclusion` is for administrators of the platform only',
    async (world) => {
      const path = `/admin/models/${await newModel(world)}/replay-inclusion`;
      const json = { included: true };
      await refusesAnonymous(world, callTo('POST', path, { json }));
      await expectFrom(world, 'platform_admin', ({ client }) => client.post(path, { json }));
    },
  ),
  row(
    '4.10',
    `\`POST ${ADMIN}/model-prices/redirect\` sets \`redirect_to\` of a model and clears it`,
    async (world) => {
      const [model, target] = [await newModel(world), await newModel(world)];
      const client = await platform(world);
      const key = await world.newKey(await world.person('user'));
      const answers = async () => {
        await waitForCatalogue(world);
        return okJson(await waitUntilServed(key.client, model))['model'];
      };
      const redirect = async (to: string | null) =>
        okJson(await client.post(`${ADMIN}/model-prices/redirect`, { json: { model, redirect_to: to } }))[
          'redirect_to'
        ];
      equal([await redirect(target), await answers()], [target, target], 'set, and who answers');
      equal([await redirect(null), await answers()], [null, model], 'cleared, and who answers');
    },
  ),
];

export const catalogueRows: readonly SpecificationRow[] = [...prices, ...providers, ...models];
