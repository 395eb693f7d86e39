import { expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';

const newKey = {
  name: 'team',
  allowed_models: ['sim-small'],
  budget_limit: 5,
  budget_period: 'monthly',
  rate_limit_rpm: 60,
  rate_limit_tpm: 50_000,
  max_parallel: 4,
  model_budgets: [{ model: 'sim-small', limit: 2, period: 'weekly' }],
};

async function createKey(world: World): Promise<{ id: string; key: string }> {
  const answer = await world.rootKey.post('/v1/manage/keys', { json: newKey });
  expectStatus(answer, 200);
  const { id, key } = jsonOf(answer);
  return { id: String(id), key: String(key) };
}

export const manageScenarios: readonly Scenario[] = [
  {
    operation: 'POST /v1/manage/keys',
    success: async (world) => {
      const { key } = await createKey(world);
      const models = await world.anonymous.with({ authorization: `Bearer ${key}` }).get('/v1/models');
      expectStatus(models, 200);
      const ids = (jsonOf(models)['data'] as { id: string }[]).map(({ id }) => id);
      expect(ids.join() === 'sim-small', `the key sees its own models: ${ids.join()}`);
      const own = jsonOf(await world.anonymous.with({ authorization: `Bearer ${key}` }).get('/v1/key'));
      const { rate_limit_tpm: tokens, max_parallel: parallel, model_budgets: budgets } = own;
      const [budget] = budgets as { model: string; remaining: number }[];
      expect(
        tokens === 50_000 && parallel === 4 && budget?.model === 'sim-small' && budget.remaining === 2,
        `the key says what limits it: ${JSON.stringify(own)}`,
      );
    },
    badInput: async (world) => {
      for (const [name, value] of [
        ['budget_limit', -1],
        ['rate_limit_tpm', 0],
        ['max_parallel', 1.5],
        ['model_budgets', [{ model: 'no-such-model', limit: 1 }]],
      ] as const)
        expectStatus(
          await world.rootKey.post('/v1/manage/keys', { json: { ...newKey, [name]: value } }),
          400,
          name,
        );
    },
    withoutRights: async (world) => {
      expectStatus(await world.anonymous.post('/v1/manage/keys', { json: newKey }), 401);
      expectStatus(await world.key.post('/v1/manage/keys', { json: newKey }), 403, 'forbidden');
    },
  },
  {
    operation: 'GET /v1/manage/keys/{key_id}',
    success: async (world) => {
      const { id } = await createKey(world);
      const key = jsonOf(await world.rootKey.get(`/v1/manage/keys/${id}`));
      expect(
        key['name'] === 'team' && key['budget_remaining'] === 5,
        `the key as made: ${JSON.stringify(key)}`,
      );
    },
    badInput: async (world) => expectStatus(await world.rootKey.get('/v1/manage/keys/key_none'), 404),
    withoutRights: async (world) => {
      const { id } = await createKey(world);
      expectStatus(await world.key.get(`/v1/manage/keys/${id}`), 403, 'forbidden');
    },
  },
  {
    operation: 'PATCH /v1/manage/keys/{key_id}',
    success: async (world) => {
      const { id } = await createKey(world);
      expectStatus(
        await world.rootKey.patch(`/v1/manage/keys/${id}`, {
          json: { budget_limit: 7, budget_period: 'total', max_parallel: null },
        }),
        200,
      );
      const key = jsonOf(await world.rootKey.get(`/v1/manage/keys/${id}`));
      expect(
        key['budget_limit'] === 7 && key['budget_period'] === 'total' && key['max_parallel'] === null,
        `the new limit is there: ${JSON.stringify(key)}`,
      );
    },
    badInput: async (world) => {
      const { id } = await createKey(world);
      const answer = await world.rootKey.patch(`/v1/manage/keys/${id}`, {
        json: { budget_period: 'yearly' },
      });
      expectStatus(answer, 400, 'budget_period');
    },
    withoutRights: async (world) => {
      const { id } = await createKey(world);
      expectStatus(
        await world.key.patch(`/v1/manage/keys/${id}`, { json: { budget_limit: 7 } }),
        403,
        'forbidden',
      );
    },
  },
];
