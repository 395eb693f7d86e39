import { expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';
import { ADMIN, admin, platformOnly, uniqueName, newModel, ok } from './admin-catalogue-steps';

async function newProvider(world: World): Promise<{ id: number; name: string }> {
  const name = uniqueName('provider');
  const json = {
    name,
    style: 'openai-style',
    base_url: 'https://supplier.example/v1',
    secret: 'sk-0123456789ab',
  };
  const { id } = ok(await (await admin(world)).post(`${ADMIN}/providers`, { json }));
  return { id: Number(id), name };
}

async function modelRow(world: World, name: string): Promise<Record<string, unknown>> {
  const [row] = await world.rows<Record<string, unknown>>('SELECT * FROM model WHERE name = $1', [name]);
  return row ?? {};
}

const priceOf = async (world: World, model: string): Promise<unknown> =>
  (
    ok(await (await admin(world)).get(`${ADMIN}/models/${model}/price-schedule`))['price'] as Record<
      string,
      unknown
    >
  )['input_price'];

const priceScenario = (path: string): Omit<Scenario, 'operation'> => ({
  success: async (world) => {
    const model = await newModel(world);
    const json = { model, input_price: '1.25' };
    ok(await (await admin(world)).post(path, { json }));
    expect((await priceOf(world, model)) === 1.25, 'the new price is in force');
  },
  badInput: async (world) => {
    const json = { model: await newModel(world), input_price: '-1' };
    expectStatus(await (await admin(world)).post(path, { json }), 422);
  },
  withoutRights: platformOnly(path, { model: 'sim-small', input_price: '1' }),
});

const providers: readonly Scenario[] = [
  {
    operation: `POST ${ADMIN}/providers`,
    success: async (world) => {
      const { id } = await newProvider(world);
      const rows = await world.rows('SELECT 1 FROM provider_credential WHERE provider_id = $1', [id]);
      expect(rows.length === 1, 'its secret is kept');
    },
    badInput: async (world) => {
      const json = { name: uniqueName('inside'), style: 'openai-style', base_url: 'http://169.254.169.254/' };
      const answer = await (await admin(world)).post(`${ADMIN}/providers`, { json });
      expect(jsonOf(answer)['code'] === 'invalid_provider', answer.text);
    },
    withoutRights: platformOnly(`${ADMIN}/providers`),
  },
  {
    operation: `POST ${ADMIN}/providers/{provider_id}/update`,
    success: async (world) => {
      const { id } = await newProvider(world);
      const json = { base_url: 'https://elsewhere.example/v1' };
      const update = ok(await (await admin(world)).post(`${ADMIN}/providers/${id}/update`, { json }));
      expect(
        update['base_url'] === json.base_url && (update['secrets'] as unknown[]).length === 0,
        'moved, without the secret of the other address',
      );
    },
    badInput: async (world) => {
      const { id } = await newProvider(world);
      const json = { name: 'late', version: 'another' };
      expectStatus(
        await (await admin(world)).post(`${ADMIN}/providers/${id}/update`, { json }),
        409,
        'conflict',
      );
    },
    withoutRights: platformOnly(
      async (world) => `${ADMIN}/providers/${(await newProvider(world)).id}/update`,
    ),
  },
  {
    operation: `POST ${ADMIN}/providers/{provider_id}/delete`,
    success: async (world) => {
      const { id } = await newProvider(world);
      ok(await (await admin(world)).post(`${ADMIN}/providers/${id}/delete`, { json: {} }));
      expectStatus(await (await admin(world)).get(`${ADMIN}/providers/${id}/visibility-info`), 404);
    },
    badInput: async (world) => {
      const [row] = await world.rows<{ id: number }>(`SELECT id FROM provider WHERE name = 'sandbox'`);
      const path = `${ADMIN}/providers/${row?.id ?? 0}/delete`;
      expectStatus(await (await admin(world)).post(path, { json: {} }), 409, 'conflict');
    },
    withoutRights: platformOnly(
      async (world) => `${ADMIN}/providers/${(await newProvider(world)).id}/delete`,
    ),
  },
  {
    operation: `GET ${ADMIN}/providers/{provider_id}/visibility-info`,
    success: async (world) => {
      const [row] = await world.rows<{ id: number }>(`SELECT id FROM provider WHERE name = 'sandbox'`);
      const info = ok(await (await admin(world)).get(`${ADMIN}/providers/${row?.id ?? 0}/visibility-info`));
      expect(Number(info['models']) >= 10 && info['visible'] === true, JSON.stringify(info));
    },
    badInput: async (world) =>
      expectStatus(await (await admin(world)).get(`${ADMIN}/providers/999999999/visibility-info`), 404),
    withoutRights: platformOnly(`${ADMIN}/providers/1/visibility-info`, {}, 'GET'),
  },
  {
    operation: `POST ${ADMIN}/providers/{provider_id}/visibility`,
    success: async (world) => {
      const { id } = await newProvider(world);
      const path = `${ADMIN}/providers/${id}/visibility`;
      expect(
        ok(await (await admin(world)).post(path, { json: { visible: false } }))['visible'] === false,
        'hidden',
      );
      expect(
        ok(await (await admin(world)).post(path, { json: { visible: true } }))['visible'] === true,
        'shown',
      );
    },
    badInput: async (world) => {
      const { id } = await newProvider(world);
      const path = `${ADMIN}/providers/${id}/visibility`;
      expectStatus(await (await admin(world)).post(path, { json: { visible: 'perhaps' } }), 422);
    },
    withoutRights: platformOnly(`${ADMIN}/providers/1/visibility`, { visible: false }),
  },
  {
    operation: `POST ${ADMIN}/providers/test`,
    success: async (world) => {
      const [row] = await world.rows<{ id: number }>(`SELECT id FROM provider WHERE name = 'sandbox'`);
      const json = { provider_id: row?.id, upstream_model: 'sim-small', region: 'local' };
      const result = ok(await (await admin(world)).post(`${ADMIN}/providers/test`, { json }));
      expect(result['ok'] === true && Number(result['latency_ms']) >= 0, JSON.stringify(result));
    },
    badInput: async (world) => {
      const json = {
        style: 'openai-style',
        base_url: 'http://169.254.169.254/v1',
        secret: 'sk-0123456789',
        upstream_model: 'm',
      };
      const result = ok(await (await admin(world)).post(`${ADMIN}/providers/test`, { json }));
      expect(result['failure'] === 'address', JSON.stringify(result));
      expectStatus(await (await admin(world)).post(`${ADMIN}/providers/test`, { json: {} }), 422);
    },
    withoutRights: platformOnly(`${ADMIN}/providers/test`, { upstream_model: 'm' }),
  },
];

const models: readonly Scenario[] = [
  {
    operation: `POST ${ADMIN}/models/update`,
    success: async (world) => {
      const model = await newModel(world);
      const json = { model, display_name: 'Renamed', input_price: '3' };
      ok(await (await admin(world)).post(`${ADMIN}/models/update`, { json }));
      expect((await modelRow(world, model))['display_name'] === 'Renamed', 'renamed');
      expect((await priceOf(world, model)) === 3, 'priced');
    },
    badInput: async (world) => {
      const json = {
        model: await newModel(world),
        lanes: [{ provider: 'none', upstream_model: 'm', region: 'eu' }],
      };
      const answer = await (await admin(world)).post(`${ADMIN}/models/update`, { json });
      expect(jsonOf(answer)['code'] === 'invalid_provider', answer.text);
    },
    withoutRights: platformOnly(`${ADMIN}/models/update`, { model: 'sim-small' }),
  },
  {
    operation: `GET ${ADMIN}/models/{model}/price-schedule`,
    success: async (world) => {
      const model = await newModel(world);
      const schedule = ok(await (await admin(world)).get(`${ADMIN}/models/${model}/price-schedule`));
      expect(schedule['active'] === null && schedule['price'] !== null, JSON.stringify(schedule));
    },
    badInput: async (world) =>
      expectStatus(await (await admin(world)).get(`${ADMIN}/models/no-such/price-schedule`), 404),
    withoutRights: platformOnly(`${ADMIN}/models/sim-small/price-schedule`, {}, 'GET'),
  },
  {
    operation: `POST ${ADMIN}/models/{model}/price-schedule`,
    success: async (world) => {
      const path = `${ADMIN}/models/${await newModel(world)}/price-schedule`;
      const json = { starts_at: '2020-01-01T00:00:00Z', ends_at: '2090-01-01T00:00:00Z', input_price: '0.5' };
      const creation = ok(await (await admin(world)).post(path, { json }));
      const { active } = ok(await (await admin(world)).get(path)) as { active?: { id?: number } };
      expect(active?.id === creation['id'], 'the schedule runs');
    },
    badInput: async (world) => {
      const path = `${ADMIN}/models/${await newModel(world)}/price-schedule`;
      expectStatus(await (await admin(world)).post(path, { json: { starts_at: 'soon' } }), 422);
    },
    withoutRights: platformOnly(`${ADMIN}/models/sim-small/price-schedule`),
  },
  {
    operation: `DELETE ${ADMIN}/models/{model}/price-schedule/{schedule_id}`,
    success: async (world) => {
      const path = `${ADMIN}/models/${await newModel(world)}/price-schedule`;
      const json = { starts_at: '2080-01-01T00:00:00Z', input_price: '0.5' };
      const { id } = ok(await (await admin(world)).post(path, { json }));
      ok(await (await admin(world)).delete(`${path}/${String(id)}`));
      const { schedules } = ok(await (await admin(world)).get(path)) as { schedules?: unknown[] };
      expect(schedules?.length === 0, 'it is gone');
    },
    badInput: async (world) => {
      const path = `${ADMIN}/models/${await newModel(world)}/price-schedule/999999999`;
      expectStatus(await (await admin(world)).delete(path), 404);
    },
    withoutRights: platformOnly(`${ADMIN}/models/sim-small/price-schedule/1`, {}, 'DELETE'),
  },
  {
    operation: 'POST /admin/models/{model}/ensure-admin-fixture',
    success: async (world) => {
      const path = `/admin/models/${uniqueName('fixture')}/ensure-admin-fixture`;
      expect(ok(await (await admin(world)).post(path, { json: {} }))['result'] === 'created', 'made');
      expect(
        ok(await (await admin(world)).post(path, { json: {} }))['result'] === 'unchanged',
        'and left alone',
      );
    },
    badInput: async (world) =>
      expectStatus(
        await (await admin(world)).post('/admin/models/sim-small/ensure-admin-fixture', { json: {} }),
        409,
        'conflict',
      ),
    withoutRights: platformOnly('/admin/models/fixture/ensure-admin-fixture'),
  },
  {
    operation: `POST ${ADMIN}/models/reorder`,
    success: async (world) => {
      const [one, two] = [await newModel(world), await newModel(world)];
      ok(await (await admin(world)).post(`${ADMIN}/models/reorder`, { json: { order: [two, one] } }));
      const [first, second] = [await modelRow(world, two), await modelRow(world, one)];
      expect(
        Number(first['display_order']) < Number(second['display_order']),
        'in the order that was asked for',
      );
    },
    badInput: async (world) =>
      expectStatus(
        await (await admin(world)).post(`${ADMIN}/models/reorder`, { json: { order: ['no-such'] } }),
        404,
      ),
    withoutRights: platformOnly(`${ADMIN}/models/reorder`, { order: ['sim-small'] }),
  },
  {
    operation: 'POST /admin/models/{model}/replay-inclusion',
    success: async (world) => {
      const model = await newModel(world);
      ok(
        await (
          await admin(world)
        ).post(`/admin/models/${model}/replay-inclusion`, { json: { included: true } }),
      );
      expect((await modelRow(world, model))['replay_included'] === true, 'included');
    },
    badInput: async (world) =>
      expectStatus(
        await (
          await admin(world)
        ).post('/admin/models/sim-small/replay-inclusion', { json: { included: 'x' } }),
        422,
      ),
    withoutRights: platformOnly('/admin/models/sim-small/replay-inclusion', { included: true }),
  },
  {
    operation: `GET ${ADMIN}/models`,
    success: async (world) => {
      const model = await newModel(world);
      const page = await (await admin(world)).get(`${ADMIN}/models?q=${model}`);
      expectStatus(page, 200);
      expect(page.text.includes(`>${model}</a>`), 'the model is in the list');
    },
    badInput: async (world) => expectStatus(await (await admin(world)).get(`${ADMIN}/models?tab=none`), 422),
    withoutRights: async (world) => {
      expectStatus(
        await (await world.person('user')).client.get(`${ADMIN}/models`),
        403,
        'permission_denied',
      );
    },
  },
  {
    operation: `GET ${ADMIN}/prices`,
    success: async (world) => {
      const answer = await (await admin(world)).get(`${ADMIN}/prices`);
      expectStatus(answer, 302);
      expect(answer.headers.get('location') === `${ADMIN}/models`, 'the page of models');
    },
    badInput: 'none',
    withoutRights: platformOnly(`${ADMIN}/prices`, {}, 'GET'),
  },
  { operation: `POST ${ADMIN}/prices`, ...priceScenario(`${ADMIN}/prices`) },
  { operation: `POST ${ADMIN}/model-prices/update`, ...priceScenario(`${ADMIN}/model-prices/update`) },
  {
    operation: `POST ${ADMIN}/model-prices/state`,
    success: async (world) => {
      const model = await newModel(world);
      const json = { model, state: 'paused' };
      ok(await (await admin(world)).post(`${ADMIN}/model-prices/state`, { json }));
      expect((await modelRow(world, model))['state'] === 'paused', 'paused');
    },
    badInput: async (world) => {
      const json = { model: await newModel(world), state: 'sleeping' };
      expectStatus(await (await admin(world)).post(`${ADMIN}/model-prices/state`, { json }), 422);
    },
    withoutRights: platformOnly(`${ADMIN}/model-prices/state`, { model: 'sim-small', state: 'paused' }),
  },
  {
    operation: `POST ${ADMIN}/model-prices/redirect`,
    success: async (world) => {
      const json = { model: await newModel(world), redirect_to: 'sim-small' };
      const update = ok(await (await admin(world)).post(`${ADMIN}/model-prices/redirect`, { json }));
      expect(update['redirect_to'] === 'sim-small', 'redirected');
    },
    badInput: async (world) => {
      const [one, two] = [await newModel(world), await newModel(world)];
      const path = `${ADMIN}/model-prices/redirect`;
      ok(await (await admin(world)).post(path, { json: { model: one, redirect_to: two } }));
      const loopResponse = await (await admin(world)).post(path, { json: { model: two, redirect_to: one } });
      expectStatus(loopResponse, 409, 'alias_redirect_conflict');
    },
    withoutRights: platformOnly(`${ADMIN}/model-prices/redirect`, { model: 'sim-small' }),
  },
  {
    operation: `POST ${ADMIN}/model-prices/delete`,
    success: async (world) => {
      const model = await newModel(world);
      ok(await (await admin(world)).post(`${ADMIN}/model-prices/delete`, { json: { model } }));
      expect((await modelRow(world, model))['state'] === 'deleted', 'deleted, and its record is kept');
    },
    badInput: async (world) =>
      expectStatus(
        await (await admin(world)).post(`${ADMIN}/model-prices/delete`, { json: { model: 'no-such' } }),
        404,
      ),
    withoutRights: platformOnly(`${ADMIN}/model-prices/delete`, { model: 'sim-small' }),
  },
];

export const adminCatalogueScenarios: readonly Scenario[] = [...providers, ...models];
