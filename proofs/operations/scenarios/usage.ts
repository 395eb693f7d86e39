import { setTimeout as delay } from 'node:timers/promises';
import { expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { PortalUser, World } from '../world';

interface RecordedRequest {
  readonly person: PortalUser;
  readonly requestId: string;
  readonly costNano: string;
}

const RECORDED_WITHIN_MS = 5_000;

/** A new user with one request, and its recorded values. */
async function requestOf(world: World): Promise<RecordedRequest> {
  const person = await world.newPerson({ organisationId: world.organisationId });
  const { client } = await world.newKey(person);
  const answer = await client.post('/v1/chat/completions', {
    json: {
      model: 'sim-small',
      messages: [{ role: 'user', content: 'hello' }],
      user: 'grace',
      metadata: { tags: ['proof', 'night'] },
    },
  });
  expectStatus(answer, 200);
  const requestId = answer.headers.get('x-request-id') ?? '';
  const deadline = Date.now() + RECORDED_WITHIN_MS;
  while ((await client.get(`/v1/generations/${requestId}`)).status !== 200) {
    expect(Date.now() < deadline, `the request is on record within ${RECORDED_WITHIN_MS} ms`);
    await delay(50);
  }
  const [row] = await world.rows<{ cost: string }>(
    'SELECT cost_nano::text AS cost FROM request_record WHERE request_id = $1',
    [requestId],
  );
  return { person, requestId, costNano: row?.cost ?? '' };
}

interface UsageTotals {
  readonly requests: number;
  readonly cost_nano: string;
}

const totalOf = (usage: Record<string, unknown>): UsageTotals => usage['total'] as UsageTotals;

export const usageScenarios: readonly Scenario[] = [
  {
    operation: 'GET /dashboard/usage',
    success: async (world) => {
      const { person } = await requestOf(world);
      const page = await person.client.get('/dashboard/usage?group_by=tag');
      expectStatus(page, 200, 'proof');
      expect(page.text.includes('sim-small'), 'the model stands among the filters');
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      expectStatus(await client.get('/dashboard/usage?group_by=colour'), 422);
    },
    withoutRights: async (world) => expectStatus(await world.key.get('/dashboard/usage'), 401),
  },
  {
    operation: 'GET /dashboard/activity',
    success: async (world) => {
      const person = await world.newPerson({ organisationId: world.organisationId });
      expectStatus(
        await person.client.post('/dashboard/keys/new', { form: { name: 'of the activity' } }),
        200,
      );
      expectStatus(await person.client.get('/dashboard/activity?days=7'), 200, 'of the activity');
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      expectStatus(await client.get('/dashboard/activity?days=8'), 422);
    },
    withoutRights: async (world) => expectStatus(await world.key.get('/dashboard/activity'), 401),
  },
  {
    operation: 'GET /dashboard/api/usage',
    success: async (world) => {
      const { person, costNano } = await requestOf(world);
      const usage = jsonOf(
        await person.client.get('/dashboard/api/usage?group_by=end_user&bucket=hour&days=1'),
      );
      const { requests, cost_nano: cost } = totalOf(usage);
      expect(requests === 1 && cost === costNano, `one request of ${costNano}: ${JSON.stringify(usage)}`);
      expect(JSON.stringify(usage['groups']).includes('"group":"grace"'), 'its end user is a group');
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      expectStatus(await client.get('/dashboard/api/usage?zone=Mars'), 422);
    },
    withoutRights: async (world) => {
      const { costNano } = await requestOf(world);
      const stranger = await world.newPerson({ organisationId: world.otherOrganisationId });
      const usage = jsonOf(await stranger.client.get('/dashboard/api/usage'));
      expect(totalOf(usage).requests === 0, `nothing of ${costNano} is seen: ${JSON.stringify(usage)}`);
      expectStatus(await world.anonymous.get('/dashboard/api/usage'), 401);
    },
  },
  {
    operation: 'GET /dashboard/admin/api/usage',
    success: async (world) => {
      const { person, costNano } = await requestOf(world);
      const admin = await world.person('org_admin');
      const usage = jsonOf(await admin.client.get(`/dashboard/admin/api/usage?user_id=${person.userId}`));
      expect(totalOf(usage).cost_nano === costNano, `usage of the person: ${JSON.stringify(usage)}`);
    },
    badInput: async (world) => {
      const admin = await world.person('org_admin');
      expectStatus(await admin.client.get('/dashboard/admin/api/usage'), 422);
    },
    withoutRights: async (world) => {
      const { person } = await requestOf(world);
      const path = `/dashboard/admin/api/usage?user_id=${person.userId}`;
      expectStatus(await person.client.get(path), 403, 'permission_denied');
      expectStatus(await (await world.stranger('org_admin')).client.get(path), 404);
      expectStatus(await world.anonymous.get(path), 401);
    },
  },
  {
    operation: 'GET /dashboard/request-log',
    success: async (world) => {
      const { person, requestId } = await requestOf(world);
      const page = await person.client.get('/dashboard/request-log?tag=night&end_user=grace&model=sim-small');
      expectStatus(page, 200, requestId);
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      expectStatus(await client.get('/dashboard/request-log?status=9xx'), 422);
    },
    withoutRights: async (world) => {
      const { requestId } = await requestOf(world);
      const stranger = await world.stranger('user');
      const page = await stranger.client.get(`/dashboard/request-log?request_id=${requestId}`);
      expect(!page.text.includes(`request-${requestId}`), 'the request of another is not shown');
      expectStatus(await world.anonymous.get('/dashboard/request-log'), 401);
    },
  },
  {
    operation: 'GET /dashboard/request-log/export',
    success: async (world) => {
      const { person, requestId, costNano } = await requestOf(world);
      const file = await person.client.get('/dashboard/request-log/export?days=1');
      expectStatus(file, 200, requestId);
      const lines = file.text.trimEnd().split('\r\n');
      expect(lines.length === 2 && file.text.includes(costNano), `a head and one request: ${file.text}`);
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      expectStatus(await client.get('/dashboard/request-log/export?min_cost=much'), 422);
    },
    withoutRights: async (world) =>
      expectStatus(await world.anonymous.get('/dashboard/request-log/export'), 401),
  },
];
