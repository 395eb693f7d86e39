import { expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';
import { ADMIN, admin } from './admin-catalogue-steps';

const RESET = `POST ${ADMIN}/users/{user_id}/second-factor-reset`;
const RESTORE = 'POST /dashboard/keys/{key_id}#restore';
const reason = { json: { reason: 'lost the phone' } };

/** A user with two-factor authentication and one recovery code. */
async function createTwoFactorUser(world: World): Promise<{ userId: number; path: string }> {
  const { userId } = await world.newPerson({ role: 'user', organisationId: world.organisationId });
  await world.rows(
    `WITH factor AS (INSERT INTO second_factor (user_id, secret, enabled_at) VALUES ($1, '\\x00', now()))
     INSERT INTO recovery_code (user_id, code_hash) VALUES ($1, '\\x00')`,
    [userId],
  );
  return { userId, path: `${ADMIN}/users/${userId}/second-factor-reset` };
}

/** Recovery by an administrator or an owner, beyond the contract. */
export const recoveryScenarios: readonly Scenario[] = [
  {
    operation: RESET,
    success: async (world) => {
      const { userId, path } = await createTwoFactorUser(world);
      const answer = jsonOf(await (await admin(world)).post(path, reason));
      expect(
        JSON.stringify(answer['changed']) === '["second_factor"]',
        `what changed: ${JSON.stringify(answer)}`,
      );
      const [left] = await world.rows<{ count: number }>(
        `SELECT (SELECT count(*) FROM second_factor WHERE user_id = $1)::int
              + (SELECT count(*) FROM recovery_code WHERE user_id = $1)::int
              + (SELECT count(*) FROM session WHERE user_id = $1)::int AS count`,
        [userId],
      );
      expect(left?.count === 0, 'factor, codes and sessions have ended');
    },
    badInput: async (world) => {
      const { path } = await createTwoFactorUser(world);
      expectStatus(await (await admin(world)).post(path, { json: {} }), 422, 'reason');
      expectStatus(
        await (await admin(world)).post(`${ADMIN}/users/999999999/second-factor-reset`, reason),
        404,
      );
    },
    withoutRights: async (world) => {
      const { path } = await createTwoFactorUser(world);
      expectStatus(await world.anonymous.post(path, reason), 401);
      expectStatus(await (await world.person('user')).client.post(path, reason), 403);
      expectStatus(await (await world.stranger('org_owner')).client.post(path, reason), 404);
    },
  },
  {
    operation: RESTORE,
    success: async (world) => {
      const person = await world.newPerson({ role: 'user', organisationId: world.organisationId });
      const { id, client: key } = await world.newKey(person);
      const path = `/dashboard/keys/${id}`;
      const revoked = jsonOf(await person.client.post(path, { json: { action: 'revoke' } }));
      expect(revoked['restorable_until'] !== null, `until when: ${JSON.stringify(revoked)}`);
      expectStatus(await key.get('/v1/models'), 401);
      for (let times = 0; times < 2; times += 1)
        expectStatus(await person.client.post(path, { json: { action: 'restore' } }), 200);
      expectStatus(await key.get('/v1/models'), 200);
    },
    badInput: async (world) => {
      const person = await world.newPerson({ role: 'user', organisationId: world.organisationId });
      const { id } = await world.newKey(person);
      const path = `/dashboard/keys/${id}`;
      expectStatus(await person.client.post(path, { json: { action: 'revoke', final: 'no' } }), 422, 'final');
      expectStatus(await person.client.post(path, { json: { action: 'revoke', final: true } }), 200);
      expectStatus(await person.client.post(path, { json: { action: 'restore' } }), 409, 'conflict');
    },
    withoutRights: async (world) => {
      const person = await world.newPerson({ role: 'user', organisationId: world.organisationId });
      const path = `/dashboard/keys/${(await world.newKey(person)).id}`;
      expectStatus(await person.client.post(path, { json: { action: 'revoke' } }), 200);
      const restore = { json: { action: 'restore' } };
      expectStatus(await (await world.stranger('org_owner')).client.post(path, restore), 404);
      expectStatus(await world.anonymous.post(path, restore), 401);
    },
  },
];
