import { expectPage, mailTo, newAddress } from '../accounts';
import { type Client, expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';

const adminView = async (
  world: World,
  userId: number,
): Promise<{ admin_role: string | null; org: number | null }> => {
  const [row] = await world.rows<{ admin_role: string | null; org: number | null }>(
    'SELECT admin_role, admin_organisation_id AS org FROM session WHERE user_id = $1',
    [userId],
  );
  if (row === undefined) throw new Error('the session is gone');
  return row;
};

async function expectLocation(client: Client, path: string, location: string): Promise<void> {
  const answer = await client.get(path);
  expect([301, 302, 307, 308].includes(answer.status), `it leads on: ${answer.status}`);
  expect(answer.headers.get('location') === location, `to ${String(answer.headers.get('location'))}`);
}

/** Both routes narrow the administration view to an organisation. */
const narrowing = (path: string, selection: (world: World) => object, invalidBody: object): Scenario => ({
  operation: `POST ${path}`,
  success: async (world) => {
    const { client, userId } = await world.newPerson({ role: 'platform_admin' });
    expectStatus(await client.post(path, { json: selection(world) }), 200);
    const { org } = await adminView(world, userId);
    expect(org === world.otherOrganisationId, `narrowed to ${String(org)}`);
  },
  badInput: async (world) => {
    const { client } = await world.newPerson({ role: 'platform_admin' });
    const { status } = await client.post(path, { json: invalidBody });
    expect(status === 404 || status === 422, `no such organisation: ${status}`);
  },
  withoutRights: async (world) => {
    expectStatus(await world.anonymous.post(path, { json: selection(world) }), 401);
    const { client } = await world.person('org_admin');
    expectStatus(await client.post(path, { json: selection(world) }), 403, 'permission_denied');
  },
});

/** Returns the invitation token in the mail to this address. */
async function invite(world: World, email: string): Promise<string> {
  const owner = await world.newPerson({ role: 'org_owner', organisationId: world.organisationId });
  const json = { email, role: 'user' };
  expectStatus(await owner.client.post('/dashboard/admin/users/invite', { json }), 200);
  return /\/invite\/([\w-]{43})/.exec((await mailTo(world, email, /./)).text)?.[1] ?? '';
}

export const frameScenarios: readonly Scenario[] = [
  {
    operation: 'GET /dashboard/playground',
    success: async (world) =>
      expectLocation((await world.person('user')).client, '/dashboard/playground', '/dashboard/webchat'),
    badInput: 'none',
    withoutRights: async (world) => expectStatus(await world.anonymous.get('/dashboard/playground'), 401),
  },
  {
    operation: 'GET /dashboard/playground/{conv_id}',
    success: async (world) => {
      const { client } = await world.person('user');
      await expectLocation(client, '/dashboard/playground/1', '/dashboard/webchat/1');
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      for (const invalidValue of ['conv_1', '0', '..%2F..%2Flogout']) {
        const answer = await client.get(`/dashboard/playground/${invalidValue}`);
        expectStatus(answer, 422, 'conv_id');
        expect(answer.headers.get('location') === null, 'what is no id leads nowhere');
      }
    },
    withoutRights: async (world) => expectStatus(await world.anonymous.get('/dashboard/playground/1'), 401),
  },
  {
    operation: 'POST /dashboard/toggle-admin-mode',
    success: async (world) => {
      const { client, userId } = await world.newPerson({ role: 'org_admin' });
      const path = '/dashboard/toggle-admin-mode';
      const conversation = jsonOf(await client.post(path, { json: {} }));
      expect(conversation['admin_mode'] === true, 'the view opens');
      expect((await adminView(world, userId)).admin_role === 'org_admin', 'the session knows it');
      await client.post(path, { json: { admin_mode: 'off' } });
      expect((await adminView(world, userId)).admin_role === null, 'and closes');
    },
    badInput: async (world) => {
      const { client } = await world.newPerson({ role: 'org_admin' });
      const json = { admin_mode: 'maybe' };
      expectStatus(await client.post('/dashboard/toggle-admin-mode', { json }), 422, 'admin_mode');
    },
    withoutRights: async (world) => {
      expectStatus(await world.anonymous.post('/dashboard/toggle-admin-mode', { json: {} }), 401);
      const { client } = await world.person('user');
      const answer = await client.post('/dashboard/toggle-admin-mode', { json: {} });
      expectStatus(answer, 403, 'permission_denied');
    },
  },
  narrowing(
    '/dashboard/set-admin-org',
    ({ otherOrganisationId }) => ({ org_id: String(otherOrganisationId) }),
    { org_id: '999999999' },
  ),
  narrowing('/dashboard/set-admin-domain', () => ({ domain: 'theirs' }), { domain: 'nowhere' }),
  {
    operation: 'GET /invite/{token}',
    success: async (world) => {
      const email = newAddress();
      const token = await invite(world, email);
      await expectPage(world.anonymous, `/invite/${token}`, email, 'ours', `/login?next=/invite/${token}`);
      const guest = await world.newPerson();
      await expectPage(guest.client, `/invite/${token}`, 'signed in as someone else');
      const own = await invite(world, guest.email);
      await expectPage(guest.client, `/invite/${own}`, `action="/invite/${own}/accept"`);
      expectStatus(await guest.client.post(`/invite/${own}/accept`, { json: {} }), 200);
      await expectPage(world.anonymous, `/invite/${own}`, 'was already accepted');
    },
    badInput: async (world) => {
      expectStatus(await world.anonymous.get(`/invite/${'A'.repeat(43)}`), 404, 'not_found');
      expectStatus(await world.anonymous.get(`/invite/${'A'.repeat(101)}`), 422, 'token');
    },
    withoutRights: 'public',
  },
];
