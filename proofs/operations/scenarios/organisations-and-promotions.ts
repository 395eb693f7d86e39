import { type ReadResponse, expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';
import { column, platform, newMember, unique } from './people-support';

const organisations = '/dashboard/admin/organisations';
const promotions = '/dashboard/admin/promotions';

async function newOrganisation(world: World): Promise<number> {
  const slug = `o${unique()}`;
  const createResponse = await (await platform(world)).post(organisations, { json: { name: slug, slug } });
  expectStatus(createResponse, 200);
  return Number(jsonOf(createResponse)['id']);
}

const refusedToOrganisations = async (
  world: World,
  ask: (client: Awaited<ReturnType<typeof platform>>) => Promise<ReadResponse>,
) => {
  expectStatus(await ask((await world.person('org_owner')).client), 403, 'permission_denied');
  expectStatus(await ask(world.anonymous), 401);
};

const organisationScenarios: readonly Scenario[] = [
  {
    operation: `GET ${organisations}`,
    success: async (world) => expectStatus(await (await platform(world)).get(organisations), 200, 'theirs'),
    badInput: async (world) =>
      expectStatus(await (await platform(world)).get(`${organisations}?cursor=x`), 422, '["query","cursor"]'),
    withoutRights: (world) => refusedToOrganisations(world, (client) => client.get(organisations)),
  },
  {
    operation: `POST ${organisations}`,
    success: async (world) => {
      const id = await newOrganisation(world);
      expectStatus(await (await platform(world)).get(`${organisations}/${id}`), 200);
    },
    badInput: async (world) =>
      expectStatus(
        await (await platform(world)).post(organisations, { json: { name: 'x', slug: 'No Slug' } }),
        422,
      ),
    withoutRights: (world) =>
      refusedToOrganisations(world, (client) =>
        client.post(organisations, { json: { name: 'x', slug: 'x' } }),
      ),
  },
  {
    operation: `POST ${organisations}/{org_id}`,
    success: async (world) => {
      const id = await newOrganisation(world);
      const json = { name: 'Renamed', monthly_budget: 12, billing_exempt: true };
      expectStatus(await (await platform(world)).post(`${organisations}/${id}`, { json }), 200);
      const [row] = await world.rows<{ name: string; billing_exempt: boolean }>(
        'SELECT name, billing_exempt FROM organisation WHERE id = $1',
        [id],
      );
      expect(row?.name === 'Renamed' && row.billing_exempt, `changed: ${JSON.stringify(row)}`);
    },
    badInput: async (world) => {
      const id = await newOrganisation(world);
      const client = await platform(world);
      expectStatus(await client.post(`${organisations}/${id}`, { json: { monthly_budget: -1 } }), 422);
      expectStatus(
        await client.post(`${organisations}/${id}`, { json: { name: 'y', version: 7 } }),
        409,
        'conflict',
      );
    },
    withoutRights: (world) =>
      refusedToOrganisations(world, (client) =>
        client.post(`${organisations}/${world.organisationId}`, { json: { name: 'x' } }),
      ),
  },
  {
    operation: `DELETE ${organisations}/{org_id}`,
    success: async (world) => {
      const id = await newOrganisation(world);
      expectStatus(await (await platform(world)).delete(`${organisations}/${id}`), 200);
      expect((await world.rows('SELECT 1 FROM organisation WHERE id = $1', [id])).length === 0, 'it is gone');
    },
    badInput: async (world) => {
      await newMember(world);
      const client = await platform(world);
      expectStatus(await client.delete(`${organisations}/${world.organisationId}`), 409, 'conflict');
      expectStatus(await client.delete(`${organisations}/999999999`), 404);
    },
    withoutRights: (world) =>
      refusedToOrganisations(world, (client) => client.delete(`${organisations}/${world.organisationId}`)),
  },
  {
    operation: `POST ${organisations}/merge`,
    success: async (world) => {
      const [target, source] = [await newOrganisation(world), await newOrganisation(world)];
      const member = await world.newPerson({ organisationId: source });
      const form = {
        target_org_id: String(target),
        source_org_ids: String(source),
        billing_user_id: String(member.userId),
      };
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const body = new URLSearchParams(form).toString();
      expectStatus(await (await platform(world)).post(`${organisations}/merge`, { body, headers }), 200);
      expect((await column(world, member.userId, 'organisation_id')) === target, 'the member moved');
      expect(
        (await world.rows('SELECT 1 FROM organisation WHERE id = $1', [source])).length === 0,
        'the source ended',
      );
    },
    badInput: async (world) => {
      const client = await platform(world);
      expectStatus(await client.post(`${organisations}/merge`, { json: { target_org_id: 1 } }), 422);
      const itself = { target_org_id: world.organisationId, source_org_ids: String(world.organisationId) };
      expectStatus(await client.post(`${organisations}/merge`, { json: itself }), 409, 'conflict');
    },
    withoutRights: (world) =>
      refusedToOrganisations(world, (client) => client.post(`${organisations}/merge`, { json: {} })),
  },
  {
    operation: `GET ${organisations}/{org_id}/merge-data`,
    success: async (world) => {
      const person = await newMember(world);
      const path = `${organisations}/${world.organisationId}/merge-data`;
      const data = jsonOf(await (await platform(world)).get(path));
      const members = data['members'] as { id: number }[];
      expect(
        members.some(({ id }) => id === person.userId),
        'the members',
      );
      expect('billing_user_id' in data, 'who pays');
    },
    badInput: async (world) => {
      expectStatus(await (await platform(world)).get(`${organisations}/x/merge-data`), 422);
      expectStatus(await (await platform(world)).get(`${organisations}/999999999/merge-data`), 404);
    },
    withoutRights: (world) =>
      refusedToOrganisations(world, (client) =>
        client.get(`${organisations}/${world.organisationId}/merge-data`),
      ),
  },
];

async function createGrant(world: World, path: string): Promise<{ id: number; userId: number }> {
  const person = await newMember(world);
  const json = { name: 'welcome', scope: 'user', user_id: person.userId, amount: 5 };
  const answer = await (await platform(world)).post(path, { json });
  expectStatus(answer, 200);
  return { id: Number(jsonOf(answer)['id']), userId: person.userId };
}

async function balance(world: World, userId: number): Promise<string | undefined> {
  const [row] = await world.rows<{ sum: string }>(
    `SELECT sum(e.amount)::text AS sum FROM ledger_entry e JOIN ledger_account a ON a.id = e.account_id
      WHERE a.kind = 'wallet' AND a.owner_id = $1`,
    [userId],
  );
  return row?.sum;
}

const grantScenario = (path: string): Scenario => ({
  operation: `POST ${path}`,
  success: async (world) => {
    const { userId } = await createGrant(world, path);
    expect((await balance(world, userId)) === '5000000000', 'the wallet has it, in the ledger');
  },
  badInput: async (world) =>
    expectStatus(
      await (await platform(world)).post(path, { json: { name: 'x', scope: 'everyone', amount: -1 } }),
      422,
    ),
  withoutRights: (world) =>
    refusedToOrganisations(world, (client) =>
      client.post(path, { json: { name: 'x', scope: 'everyone', amount: 1 } }),
    ),
});

const promotionScenarios: readonly Scenario[] = [
  {
    operation: `GET ${promotions}`,
    success: async (world) => {
      await createGrant(world, promotions);
      expectStatus(await (await platform(world)).get(promotions), 200, 'welcome');
    },
    badInput: async (world) =>
      expectStatus(await (await platform(world)).get(`${promotions}?cursor=x`), 422, '["query","cursor"]'),
    withoutRights: (world) => refusedToOrganisations(world, (client) => client.get(promotions)),
  },
  grantScenario(promotions),
  grantScenario(`${promotions}/create`),
  {
    operation: `POST ${promotions}/{grant_id}/update`,
    success: async (world) => {
      const { id, userId } = await createGrant(world, promotions);
      expectStatus(
        await (await platform(world)).post(`${promotions}/${id}/update`, { json: { end: true } }),
        200,
      );
      expect((await balance(world, userId)) === '0', 'what was not used is posted back');
    },
    badInput: async (world) => {
      const { id } = await createGrant(world, promotions);
      const client = await platform(world);
      expectStatus(await client.post(`${promotions}/${id}/update`, { json: { expires_at: 'soon' } }), 422);
      expectStatus(await client.post(`${promotions}/999999999/update`, { json: { end: true } }), 404);
    },
    withoutRights: (world) =>
      refusedToOrganisations(world, (client) =>
        client.post(`${promotions}/1/update`, { json: { end: true } }),
      ),
  },
];

/** Organisations and promotions: for platform administrators. */
export const organisationAndPromotionScenarios: readonly Scenario[] = [
  ...organisationScenarios,
  ...promotionScenarios,
];
