import { type ReadResponse, expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';
import { column, orgAdmin, plainUser, platform, newMember, unique } from './people-support';

const users = '/dashboard/admin/users';
interface UserChange {
  readonly act: string;
  readonly validBody: (world: World) => Promise<object>;
  readonly invalidBody: object;
  /** Checks the effect of the change. */
  readonly isApplied: (world: World, userId: number, answer: ReadResponse) => Promise<boolean>;
}

/** Each account field: changed by the platform, rejected for users and for administrators of another organisation. */
const userScenario = ({
  act,
  validBody: wanted,
  invalidBody: wrong,
  isApplied: seen,
}: UserChange): Scenario => ({
  operation: `POST ${users}/{user_id}/${act}`,
  success: async (world) => {
    const person = await newMember(world);
    const json = await wanted(world);
    const answer = await (await platform(world)).post(`${users}/${person.userId}/${act}`, { json });
    expectStatus(answer, 200);
    expect(await seen(world, person.userId, answer), `${act} holds: ${answer.text}`);
  },
  badInput: async (world) => {
    const person = await newMember(world);
    const client = await platform(world);
    expectStatus(await client.post(`${users}/${person.userId}/${act}`, { json: wrong }), 422);
    expectStatus(await client.post(`${users}/999999999/${act}`, { json: await wanted(world) }), 404);
  },
  withoutRights: async (world) => {
    const person = await newMember(world);
    const json = await wanted(world);
    const path = `${users}/${person.userId}/${act}`;
    expectStatus(await world.anonymous.post(path, { json }), 401);
    expectStatus(await (await plainUser(world)).post(path, { json }), 403, 'permission_denied');
    const stranger = (await world.stranger('org_owner')).client;
    const foreign = await stranger.post(path, { json });
    expect([403, 404].includes(foreign.status), `foreign: ${foreign.status} ${foreign.text}`);
  },
});

const userOf = (answer: ReadResponse) => jsonOf(answer)['user'] as Record<string, unknown>;

const userScenarios = [
  userScenario({
    act: 'role',
    validBody: () => Promise.resolve({ role: 'org_admin' }),
    invalidBody: { role: 'king' },
    isApplied: async (world, id) => (await column(world, id, 'role')) === 'org_admin',
  }),
  userScenario({
    act: 'billing-exempt',
    validBody: () => Promise.resolve({ billing_exempt: false }),
    invalidBody: { billing_exempt: 'perhaps' },
    isApplied: async (world, id) => (await column(world, id, 'billing_exempt')) === false,
  }),
  userScenario({
    act: 'credit-limit',
    validBody: () => Promise.resolve({ credit_limit: 3 }),
    invalidBody: { credit_limit: -3 },
    isApplied: async (world, id) => {
      const [rule] = await world.rows<{ limit_nano: string }>(
        "SELECT limit_nano FROM spending_rule WHERE kind = 'wallet' AND owner_id = $1",
        [id],
      );
      return rule?.limit_nano === '3000000000';
    },
  }),
  userScenario({
    act: 'monthly-budget',
    validBody: () => Promise.resolve({ monthly_budget: '4.5' }),
    invalidBody: { monthly_budget: 'much' },
    isApplied: (_world, _id, answer) => Promise.resolve(userOf(answer)['monthly_budget'] === 4.5),
  }),
  userScenario({
    act: 'billing-config',
    validBody: () => Promise.resolve({ billing_type: 'prepaid', budget: 2, budget_period: 'daily' }),
    invalidBody: { billing_type: 'never' },
    isApplied: (_world, _id, answer) => Promise.resolve(userOf(answer)['budget_period'] === 'daily'),
  }),
  userScenario({
    act: 'status',
    validBody: () => Promise.resolve({ status: 'suspended' }),
    invalidBody: { status: 'deleted' },
    isApplied: async (world, id) => (await column(world, id, 'status')) === 'suspended',
  }),
  userScenario({
    act: 'hard-delete',
    validBody: () => Promise.resolve({ reason: 'asked for' }),
    invalidBody: { everything: true },
    isApplied: async (world, id) => (await column(world, id, 'status')) === 'deleted',
  }),
  userScenario({
    act: 'org',
    validBody: (world) => Promise.resolve({ org_id: world.otherOrganisationId }),
    invalidBody: { org_id: 'theirs' },
    isApplied: async (world, id) =>
      (await column(world, id, 'organisation_id')) === world.otherOrganisationId,
  }),
  userScenario({
    act: 'department',
    validBody: async (world) => {
      const [row] = await world.rows<{ id: number }>(
        'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
        [world.organisationId, unique()],
      );
      return { department_id: row?.id };
    },
    invalidBody: { department_id: 0 },
    isApplied: async (world, id) => (await column(world, id, 'department_id')) !== null,
  }),
];

/** Pages that list own objects and no foreign ones. */
const pages: readonly Scenario[] = [
  {
    operation: `GET ${users}`,
    success: async (world) => {
      const person = await newMember(world);
      const stranger = await world.stranger('user');
      const page = await (await orgAdmin(world)).get(users);
      expectStatus(page, 200, person.email);
      expect(!page.text.includes(stranger.email), 'nobody of another organisation is listed');
    },
    badInput: async (world) => expectStatus(await (await orgAdmin(world)).get(`${users}?role=king`), 422),
    withoutRights: async (world) => {
      expectStatus(await world.anonymous.get(users), 401);
      expectStatus(await (await plainUser(world)).get(users), 403);
    },
  },
  {
    operation: `GET ${users}/{user_id}`,
    success: async (world) => {
      const person = await newMember(world);
      expectStatus(await (await orgAdmin(world)).get(`${users}/${person.userId}`), 200, person.email);
    },
    badInput: async (world) => {
      expectStatus(await (await orgAdmin(world)).get(`${users}/nobody`), 422);
      expectStatus(await (await orgAdmin(world)).get(`${users}/999999999`), 404);
    },
    withoutRights: async (world) => {
      const stranger = await world.stranger('user');
      expectStatus(await (await orgAdmin(world)).get(`${users}/${stranger.userId}`), 404);
      expectStatus(await (await plainUser(world)).get(`${users}/${stranger.userId}`), 403);
    },
  },
  {
    operation: 'GET /dashboard/admin/projects',
    success: async (world) => {
      const name = `project ${unique()}`;
      const createResponse = await (
        await orgAdmin(world)
      ).post('/dashboard/admin/projects', { json: { name } });
      expectStatus(createResponse, 200);
      expectStatus(await (await orgAdmin(world)).get('/dashboard/admin/projects'), 200, name);
      const otherPage = await (await world.stranger('org_admin')).client.get('/dashboard/admin/projects');
      expect(!otherPage.text.includes(name), 'another organisation does not see it');
    },
    badInput: async (world) =>
      expectStatus(await (await orgAdmin(world)).get('/dashboard/admin/projects?org_id=x'), 422),
    withoutRights: async (world) =>
      expectStatus(await (await plainUser(world)).get('/dashboard/admin/projects'), 403),
  },
];

const invite = (email: string) => ({ json: { email, role: 'user' } });

const invites: readonly Scenario[] = [
  {
    operation: `GET ${users}/invite`,
    success: async (world) =>
      expectStatus(
        await (await orgAdmin(world)).get(`${users}/invite?email=a@example.com`),
        200,
        'a@example.com',
      ),
    badInput: async (world) =>
      expectStatus(
        await (await orgAdmin(world)).get(`${users}/invite?email=${'x'.repeat(300)}`),
        422,
        '["query","email"]',
      ),
    withoutRights: async (world) => expectStatus(await (await plainUser(world)).get(`${users}/invite`), 403),
  },
  {
    operation: `POST ${users}/invite`,
    success: async (world) => {
      const email = `${unique()}@example.com`;
      expectStatus(await (await orgAdmin(world)).post(`${users}/invite`, invite(email)), 200);
      const [row] = await world.rows<{ organisation_id: number }>(
        'SELECT organisation_id FROM invite WHERE email = $1',
        [email],
      );
      expect(row?.organisation_id === world.organisationId, 'an invitation into the own organisation');
    },
    badInput: async (world) =>
      expectStatus(await (await orgAdmin(world)).post(`${users}/invite`, invite('no address')), 422),
    withoutRights: async (world) => {
      const invitation = { json: { email: 'b@example.com', role: 'org_owner' } };
      expectStatus(
        await (await orgAdmin(world)).post(`${users}/invite`, invitation),
        403,
        'permission_denied',
      );
      expectStatus(await (await plainUser(world)).post(`${users}/invite`, invite('c@example.com')), 403);
    },
  },
  {
    operation: `POST ${users}/invite/{invite_id}/revoke`,
    success: async (world) => {
      const client = await orgAdmin(world);
      const creation = jsonOf(await client.post(`${users}/invite`, invite(`${unique()}@example.com`)));
      const [id] = creation['invites'] as number[];
      expectStatus(await client.post(`${users}/invite/${id}/revoke`), 200);
      const [row] = await world.rows<{ revoked_at: Date | null }>(
        'SELECT revoked_at FROM invite WHERE id = $1',
        [id],
      );
      expect(row?.revoked_at !== null, 'revoked');
      expectStatus(await client.post(`${users}/invite/${id}/revoke`), 409, 'conflict');
    },
    badInput: async (world) =>
      expectStatus(await (await orgAdmin(world)).post(`${users}/invite/x/revoke`), 422),
    withoutRights: async (world) => {
      const creation = jsonOf(
        await (await orgAdmin(world)).post(`${users}/invite`, invite(`${unique()}@example.com`)),
      );
      const [id] = creation['invites'] as number[];
      const stranger = (await world.stranger('org_admin')).client;
      expectStatus(await stranger.post(`${users}/invite/${id}/revoke`), 404);
      expectStatus(await (await plainUser(world)).post(`${users}/invite/${id}/revoke`), 403);
    },
  },
];

export const peopleScenarios: readonly Scenario[] = [...pages, ...userScenarios, ...invites];
