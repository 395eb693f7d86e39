import { type Client, expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';
import { ADMIN, admin, owner } from './admin-catalogue-steps';
import { invoicePaymentScenarios } from './invoice-payments';
import { recoveryScenarios } from './recovery';

const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();
const MARKUP = `POST ${ADMIN}/organisations/{org_id}/markup`;
const RAISE = `POST ${ADMIN}/users/{user_id}/budget-raise`;
const KEY_RAISE = 'POST /dashboard/keys/{key_id}#raise';
const KEY_LIMITS = 'POST /dashboard/keys/{key_id}#limits';

const chatRequest = {
  json: { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }], max_tokens: 8 },
};

/** Creates a key whose budget its first request exceeds, and an administrator who can see it. */
async function exhaustedKey(
  world: World,
): Promise<{ path: string; client: Client; key: Client; inCharge: Client }> {
  const person = await world.newPerson({ role: 'user', organisationId: world.organisationId });
  const { id, client: key } = await world.newKey(person);
  const path = `/dashboard/keys/${id}`;
  expectStatus(await person.client.post(path, { json: { budget_limit: '0.000000001' } }), 200);
  const administrator = (await world.newPerson({ role: 'org_owner', organisationId: world.organisationId }))
    .client;
  expectStatus(await administrator.post('/dashboard/toggle-admin-mode', { json: { admin_mode: 'on' } }), 200);
  return { path, client: person.client, key, inCharge: administrator };
}

/** The end of a budget raise reaches a node by an announcement. */
async function waitUntilRejected(key: Client): Promise<void> {
  const deadline = performance.now() + 5_000;
  let answer = await key.post('/v1/chat/completions', chatRequest);
  while (answer.status === 200 && performance.now() < deadline)
    answer = await key.post('/v1/chat/completions', chatRequest);
  expectStatus(answer, 402, 'budget_exceeded');
}

async function markupPath(world: World): Promise<string> {
  const [row] = await world.rows<{ id: number }>(
    `INSERT INTO organisation (name, slug) VALUES ('Marked up', 'marked-' || gen_random_uuid()) RETURNING id`,
  );
  return `${ADMIN}/organisations/${row?.id ?? 0}/markup`;
}

/** Administration operations outside the contract: budget raises, locked limits, mark-ups, invoice payments. */
export const beyondContract: readonly Scenario[] = [
  {
    operation: MARKUP,
    success: async (world) => {
      const [path, client] = [await markupPath(world), await admin(world)];
      const markup = jsonOf(await client.post(path, { json: { percent: '12.5', reason: 'support' } }));
      expect(markup['price_factor'] === '1.125', `the factor: ${JSON.stringify(markup)}`);
      const reset = jsonOf(await client.post(path, { json: { percent: '-100' } }));
      const versions = reset['versions'] as { price_factor: string; in_force: boolean }[];
      expect(
        versions.length === 2 && versions.filter(({ in_force: inForce }) => inForce).length === 1,
        `the version before stays: ${JSON.stringify(versions)}`,
      );
    },
    badInput: async (world) => {
      const path = await markupPath(world);
      for (const percent of ['-101', '901', 'much', '1.00001'])
        expectStatus(await (await admin(world)).post(path, { json: { percent } }), 422, 'percent');
    },
    withoutRights: async (world) => {
      const path = await markupPath(world);
      expectStatus(await (await owner(world)).post(path, { json: { percent: '-50' } }), 403);
      expectStatus(await world.anonymous.post(path, { json: { percent: '-50' } }), 401);
    },
  },
  {
    operation: RAISE,
    success: async (world) => {
      const { userId } = await world.newPerson({ role: 'user', organisationId: world.organisationId });
      const client = await admin(world);
      const path = `${ADMIN}/users/${userId}`;
      const config = { billing_type: 'prepaid', budget: '5' };
      expectStatus(await client.post(`${path}/billing-config`, { json: config }), 200);
      const raise = jsonOf(
        await client.post(`${path}/budget-raise`, {
          json: { raise_amount: '2', raise_until: TOMORROW, reason: 'a fair' },
        }),
      );
      expect(JSON.stringify(raise).includes(TOMORROW.slice(0, 10)), `until when: ${JSON.stringify(raise)}`);
      const [state] = await world.rows<{ limit_nano: string }>(
        "SELECT limit_nano::text FROM spending_state('user_budget', $1)",
        [userId],
      );
      expect(state?.limit_nano === '7000000000', `it counts at once: ${JSON.stringify(state)}`);
    },
    badInput: async (world) => {
      const { userId } = await world.newPerson({ role: 'user', organisationId: world.organisationId });
      const path = `${ADMIN}/users/${userId}/budget-raise`;
      const answer = await (
        await admin(world)
      ).post(path, { json: { raise_amount: '0', raise_until: TOMORROW, reason: 'a fair' } });
      expectStatus(answer, 422, 'raise_amount');
    },
    withoutRights: async (world) => {
      const { userId, client } = await world.newPerson({
        role: 'user',
        organisationId: world.organisationId,
      });
      const path = `${ADMIN}/users/${userId}/budget-raise`;
      const json = { raise_amount: '2', raise_until: TOMORROW, reason: 'mine' };
      expectStatus(await client.post(path, { json }), 403);
      expectStatus(await world.anonymous.post(path, { json }), 401);
    },
  },
  {
    operation: KEY_RAISE,
    success: async (world) => {
      const { path, key, inCharge } = await exhaustedKey(world);
      expectStatus(await key.post('/v1/chat/completions', chatRequest), 402, 'budget_exceeded');
      const json = { action: 'raise', raise_amount: '1', raise_until: TOMORROW, reason: 'the month’s end' };
      expectStatus(await inCharge.post(path, { json }), 200);
      expectStatus(await key.post('/v1/chat/completions', chatRequest), 200);
      const [raise] = await world.rows<{ id: number }>(
        "SELECT id FROM budget_raise WHERE kind = 'key' ORDER BY id DESC LIMIT 1",
      );
      const end = { action: 'end_raise', raise_id: raise?.id, reason: 'enough' };
      expectStatus(await inCharge.post(path, { json: end }), 200);
      await waitUntilRejected(key);
    },
    badInput: async (world) => {
      const { path, inCharge } = await exhaustedKey(world);
      const json = { action: 'raise', raise_amount: '1', raise_until: '2001-01-01', reason: 'late' };
      expectStatus(await inCharge.post(path, { json }), 422, 'raise_until');
    },
    withoutRights: async (world) => {
      const { path, client } = await exhaustedKey(world);
      const json = { action: 'raise', raise_amount: '1', raise_until: TOMORROW, reason: 'I would like to' };
      expectStatus(await client.post(path, { json }), 403);
      expectStatus(await world.anonymous.post(path, { json }), 401);
    },
  },
  {
    operation: KEY_LIMITS,
    success: async (world) => {
      const { path, client, inCharge } = await exhaustedKey(world);
      const json = {
        budget_limit: '3',
        rate_limit_tpm: 1_000,
        max_parallel: 2,
        model_budgets: [{ model: 'sim-small', limit: 1, period: 'weekly' }],
        limits_locked: true,
      };
      expectStatus(await inCharge.post(path, { json }), 200);
      expectStatus(await client.post(path, { json: { rate_limit_tpm: null } }), 403);
      expectStatus(await client.post(path, { json: { name: 'another name' } }), 200);
      const key = jsonOf(await inCharge.post(path, { json: { limits_locked: false } }));
      expect(key['max_parallel'] === 2 && key['limits_locked'] === null, `unlocked: ${JSON.stringify(key)}`);
      expectStatus(await client.post(path, { json: { rate_limit_tpm: null } }), 200);
    },
    badInput: async (world) => {
      const { path, inCharge } = await exhaustedKey(world);
      for (const [name, value] of [
        ['rate_limit_tpm', 0],
        ['max_parallel', 10_001],
        ['model_budgets', [{ model: 'no-such-model', limit: 1 }]],
      ] as const)
        expectStatus(await inCharge.post(path, { json: { [name]: value } }), 422, name);
    },
    withoutRights: async (world) => {
      const { path, client } = await exhaustedKey(world);
      expectStatus(await client.post(path, { json: { limits_locked: true } }), 403);
      expectStatus(await world.anonymous.post(path, { json: { max_parallel: 1 } }), 401);
    },
  },
  ...invoicePaymentScenarios,
  ...recoveryScenarios,
];
