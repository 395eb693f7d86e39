import { type Answer, expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';
import { column, orgAdmin, plainUser, platform, subject, unique } from './people-support';

const users = '/dashboard/admin/users';
interface UserAct {
  readonly act: string;
  readonly wanted: (world: World) => Promise<object>;
  readonly wrong: object;
  /** This holds afterwards. */
  readonly seen: (world: World, userId: number, answer: Answer) => Promise<boolean>;
}

/** Each field of an account: changed by the platform, refused to users, and to administrators of another organisation. */
const userScenario = ({ act, wanted, wrong, seen }: UserAct): Scenario => ({
  operation: `POST ${users}/{user_id}/${act}`,
  success: async (world) => {
    const person = await subject(world);
    const json = await wanted(world);
    const answer = await (await platform(world)).post(`${users}/${person.userId}/${act}`, { json });
    expectStatus(answer, 200);
    expect(await seen(world, person.userId, answer), `${act} holds: ${answer.text}`);
  },
  badInput: async (world) => {
    const person = await subject(world);
    const client = await platform(world);
    expectStatus(await client.post(`${users}/${person.userId}/${act}`, { json: wrong }), 422);
    expectStatus(await client.post(`${users}/999999999/${act}`, { json: await wanted(world) }), 404);
  },
  withoutRights: async (world) => {
    const person = await subject(world);
    const json = await wanted(world);
    const path = `${users}/${person.userId}/${act}`;
    expectStatus(await world.anonymous.post(path, { json }), 401);
    expectStatus(await (await plainUser(world)).post(path, { json }), 403, 'permission_denied');
    const stranger = (await world.stranger('org_owner')).client;
    const foreign = await stranger.post(path, { json });
    expect([403, 404].includes(foreign.status), `foreign: ${foreign.status} ${foreign.text}`);
  },
});

const userOf = (answer: Answer) => jsonOf(answer)['user'] as Record<string, unknown>;

const userScenarios = [
  userScenario({
    act: 'role',
    wanted: () => Promise.resolve({ role: 'org_admin' }),
    wrong: { role: 'king' },
    seen: async (world, id) => (await column(world, id, 'role')) === 'org_admin',
  }),
  userScenario({
    act: 'billing-exempt',
    wanted: () => Promise.resolve({ billing_exempt: false }),
    wrong: { billing_exempt: 'perhaps' },
    seen: async (world, id) => (await column(world, id, 'billing_exempt')) === false,
  }),
  userScenario({
    act: 'credit-limit',
    wanted: () => Promise.resolve({ credit_limit: 3 }),
    wrong: { credit_limit: -3 },
    seen: async (world, id) => {
      const [rule] = await world.rows<{ limit_nano: string }>(
        "SELECT limit_nano FROM spending_rule WHERE kind = 'wallet' AND owner_id = $1",
        [id],
      );
      return rule?.limit_nano === '3000000000';
    },
  }),
  userScenario({
    act: 'monthly-budget',
    wanted: () => Promise.resolve({ monthly_budget: '4.5' }),
    wrong: { monthly_budget: 'much' },
    seen: (_world, _id, answer) => Promise.resolve(userOf(answer)['monthly_budget'] === 4.5),
  }),
  userScenario({
    act: 'billing-config',
    wanted: () => Promise.resolve({ billing_type: 'prepaid', budget: 2, budget_period: 'daily' }),
    wrong: { billing_type: 'never' },
    seen: (_world, _id, answer) => Promise.resolve(userOf(answer)['budget_period'] === 'daily'),
  }),
  userScenario({
    act: 'status',
    wanted: () => Promise.resolve({ status: 'suspended' }),
    wrong: { status: 'deleted' },
    seen: async (world, id) => (await column(world, id, 'status')) === 'suspended',
  }),
  userScenario({
    act: 'hard-delete',
    wanted: () => Promise.resolve({ reason: 'asked for' }),
    wrong: { everything: true },
    seen: async (world, id) => (await column(world, id, 'status')) === 'deleted',
  }),
  userScenario({
    act: 'org',
    wanted: (world) => Promise.resolve({ org_id: world.otherOrganisationId }),
    wrong: { org_id: 'theirs' },
    seen: async (world, id) => (await column(world, id, 'organisation_id')) === world.otherOrganisationId,
  }),
  userScenario({
    act: 'department',
    wanted: async (world) => {
      const [row] = await world.rows<{ id: number }>(
        'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
        [world.organisationId, unique()],
      );
      return { department_id: row?.id };
    },
    wrong: { department_id: 0 },
    seen: async (world, id) => (await column(world, id, 'department_id')) !== null,
  }),
];

/** A page that lists what is there, and not what belongs to others. */
const pages: readonly Scenario[] = [
  {
    operation: `GET ${users}`,
    success: async (world) => {
      const person = await subject(world);
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
      const person = await subject(world);
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
      const made = await (await orgAdmin(world)).post('/dashboard/admin/projects', { json: { name } });
      expectStatus(made, 200);
      expectStatus(await (await orgAdmin(world)).get('/dashboard/admin/projects'), 200, name);
      const theirs = await (await world.stranger('org_admin')).client.get('/dashboard/admin/projects');
      expect(!theirs.text.includes(name), 'another organisation does not see it');
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
      const wanted = { json: { email: 'b@example.com', role: 'org_owner' } };
      expectStatus(await (await orgAdmin(world)).post(`${users}/invite`, wanted), 403, 'permission_denied');
      expectStatus(await (await plainUser(world)).post(`${users}/invite`, invite('c@example.com')), 403);
    },
  },
  {
    operation: `POST ${users}/invite/{invite_id}/revoke`,
    success: async (world) => {
      const client = await orgAdmin(world);
      const made = jsonOf(await client.post(`${users}/invite`, invite(`${unique()}@example.com`)));
      const [id] = made['invites'] as number[];
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
      const made = jsonOf(
        await (await orgAdmin(world)).post(`${users}/invite`, invite(`${unique()}@example.com`)),
      );
      const [id] = made['invites'] as number[];
      const stranger = (await world.stranger('org_admin')).client;
      expectStatus(await stranger.post(`${users}/invite/${id}/revoke`), 404);
      expectStatus(await (await plainUser(world)).post(`${users}/invite/${id}/revoke`), 403);
    },
  },
];

export const peopleScenarios: readonly Scenario[] = [...pages, ...userScenarios, ...invites];
