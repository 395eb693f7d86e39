import { randomUUID } from 'node:crypto';
import { type ReadResponse, type Client, expect, expectStatus, jsonOf, eventually } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';

const html = { headers: { accept: 'text/html' } };

const openPage = async (client: Client, path: string, text: string): Promise<ReadResponse> => {
  const page = await client.get(path, html);
  expectStatus(page, 200, text);
  return page;
};

/** Without a session, API clients get an error code and browsers the sign-in page. */
const refusesAnonymous =
  (path: string, method: 'get' | 'post' = 'get') =>
  async (world: World): Promise<void> => {
    expectStatus(await world.anonymous[method](path), 401, 'authentication_required');
  };

const refusesQuery =
  (path: string, param: string) =>
  async (world: World): Promise<void> => {
    expectStatus(await (await world.person('user')).client.get(path, html), 422);
    expectStatus(await (await world.person('user')).client.get(path), 422, param);
  };

async function ownKey(world: World): Promise<{ path: string; client: Client; key: Client }> {
  const person = await world.newPerson();
  const { id, client: key } = await world.newKey(person);
  return { path: `/dashboard/keys/${id}`, client: person.client, key };
}

const chatRequest = {
  json: { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }], max_tokens: 8 },
};

const keys: readonly Scenario[] = [
  {
    operation: 'GET /dashboard/keys',
    success: async (world) => {
      const person = await world.newPerson();
      const key = await world.newKey(person, 'listed-here');
      await openPage(person.client, '/dashboard/keys', 'listed-here');
      const other = await (await world.newPerson()).client.get('/dashboard/keys', html);
      expect(!other.text.includes(key.publicId), 'somebody else does not see the key');
    },
    badInput: refusesQuery('/dashboard/keys?status=eaten', 'status'),
    withoutRights: refusesAnonymous('/dashboard/keys'),
  },
  {
    operation: 'GET /dashboard/keys/new',
    success: async (world) => {
      const { client } = await world.person('user');
      const page = await openPage(client, '/dashboard/keys/new?model=sim-small', 'creation_token');
      expect(page.text.includes('value="sim-small" checked'), 'the named model is picked');
    },
    badInput: refusesQuery(`/dashboard/keys/new?model=${'m'.repeat(201)}`, 'model'),
    withoutRights: refusesAnonymous('/dashboard/keys/new'),
  },
  {
    operation: 'POST /dashboard/keys/new',
    success: async (world) => {
      const { client } = await world.newPerson();
      const form = { creation_token: randomUUID(), name: 'mine', models_mode: 'all', budget_limit: '3' };
      const createResponse = await client.post('/dashboard/keys/new', { form, ...html });
      expectStatus(createResponse, 200);
      const secret = /svc_[0-9A-Za-z]{57}/.exec(createResponse.text)?.[0] ?? '';
      const key = world.anonymous.with({ authorization: `Bearer ${secret}` });
      expectStatus(await key.get('/v1/models'), 200);
      const repeat = await client.post('/dashboard/keys/new', { form, ...html });
      expectStatus(repeat, 303);
      expect(!repeat.text.includes('svc_'), 'the secret is shown once');
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      const json = { name: 'x', budget_limit: -1 };
      expectStatus(await client.post('/dashboard/keys/new', { json }), 422, 'budget_limit');
    },
    withoutRights: async (world) => {
      const { userId } = await world.stranger('user');
      const { client } = await world.person('user');
      const json = { name: 'theirs', user_id: userId };
      expectStatus(await client.post('/dashboard/keys/new', { json }), 403, 'permission_denied');
      expectStatus(await world.anonymous.post('/dashboard/keys/new', { json }), 401);
    },
  },
  {
    operation: 'GET /dashboard/keys/{key_id}',
    success: async (world) => {
      const { path, client, key } = await ownKey(world);
      expectStatus(await key.post('/v1/chat/completions', chatRequest), 200);
      const page = async () => (await client.get(path, html)).text;
      await eventually(
        async () => (await page()).includes('sim-small'),
        'the request is on the page of its key',
      );
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      expectStatus(await client.get('/dashboard/keys/nothing1'), 404);
      expectStatus(await client.get('/dashboard/keys/nothing'), 422, 'key_id');
    },
    withoutRights: async (world) => {
      const { path } = await ownKey(world);
      expectStatus(await (await world.person('org_owner')).client.get(path), 404);
      expectStatus(await world.anonymous.get(path), 401);
    },
  },
  {
    operation: 'POST /dashboard/keys/{key_id}',
    success: async (world) => {
      const { path, client, key } = await ownKey(world);
      expectStatus(await client.post(path, { json: { action: 'pause' } }), 200);
      expectStatus(await key.get('/v1/models'), 401);
      expectStatus(await client.post(path, { json: { action: 'resume' } }), 200);
      expectStatus(await key.get('/v1/models'), 200);
      const rotated = jsonOf(await client.post(path, { json: { action: 'rotate' } }));
      const rotatedClient = world.anonymous.with({ authorization: `Bearer ${String(rotated['key'])}` });
      expectStatus(await rotatedClient.get('/v1/models'), 200);
      expectStatus(await key.get('/v1/models'), 401);
      expectStatus(await client.post(path, { json: { action: 'revoke' } }), 200);
      expectStatus(await rotatedClient.get('/v1/models'), 401);
      expectStatus(await client.post(path, { json: { action: 'restore' } }), 200);
      expectStatus(await rotatedClient.get('/v1/models'), 200);
    },
    badInput: async (world) => {
      const { path, client } = await ownKey(world);
      expectStatus(await client.post(path, { json: { rate_limit_rpm: 0 } }), 422, 'rate_limit_rpm');
      expectStatus(await client.post(path, { json: { action: 'eat' } }), 422, 'action');
      expectStatus(await client.post(path, { json: { action: 'revoke', final: 'perhaps' } }), 422, 'final');
    },
    withoutRights: async (world) => {
      const { path, key } = await ownKey(world);
      const stranger = await world.stranger('org_owner');
      expectStatus(await stranger.client.post(path, { json: { action: 'revoke' } }), 404);
      expectStatus(await key.get('/v1/models'), 200);
    },
  },
];

const overview: readonly Scenario[] = [
  {
    operation: 'GET /dashboard',
    success: async (world) => {
      const person = await world.newPerson();
      await openPage(person.client, '/dashboard', 'first-request');
      const key = await world.newKey(person);
      expectStatus(await key.client.post('/v1/chat/completions', chatRequest), 200);
      const page = async () => (await person.client.get('/dashboard', html)).text;
      await eventually(async () => !(await page()).includes('first-request'), 'the first request is noticed');
      await openPage(person.client, '/dashboard', 'sim-small');
    },
    badInput: refusesQuery('/dashboard?days=8', 'days'),
    withoutRights: refusesAnonymous('/dashboard'),
  },
  {
    operation: 'GET /dashboard/guide',
    success: async (world) => {
      const person = await world.newPerson();
      const key = await world.newKey(person, 'guided');
      await openPage(person.client, '/dashboard/guide', `/dashboard/keys/${key.id}`);
    },
    badInput: 'none',
    withoutRights: refusesAnonymous('/dashboard/guide'),
  },
  {
    operation: 'GET /dashboard/models',
    success: async (world) => {
      const { client } = await world.person('user');
      await openPage(client, '/dashboard/models?q=sim-small', 'sim-small');
      const { data } = jsonOf(await client.get('/dashboard/models?q=sim-small&format=json'));
      expect(
        (data as { id: string }[]).some(({ id }) => id === 'sim-small'),
        'the model is in the data',
      );
    },
    badInput: refusesQuery('/dashboard/models?sort=colour', 'sort'),
    withoutRights: refusesAnonymous('/dashboard/models'),
  },
  {
    operation: 'GET /dashboard/autorouter',
    success: async (world) => {
      const person = await world.newPerson();
      await openPage(person.client, '/dashboard/autorouter', 'auto');
    },
    badInput: refusesQuery('/dashboard/autorouter?days=0', 'days'),
    withoutRights: refusesAnonymous('/dashboard/autorouter'),
  },
  {
    operation: 'GET /dashboard/api/autorouter',
    success: async (world) => {
      const person = await world.newPerson();
      const key = await world.newKey(person);
      const json = { model: 'auto', messages: [{ role: 'user', content: 'hello' }], max_tokens: 8 };
      expectStatus(await key.client.post('/v1/messages', { json }), 200);
      const requests = async () =>
        jsonOf(await person.client.get('/dashboard/api/autorouter?days=7'))['requests'];
      await eventually(async () => (await requests()) === 1, 'the request for auto is counted');
    },
    badInput: refusesQuery('/dashboard/api/autorouter?days=x', 'days'),
    withoutRights: refusesAnonymous('/dashboard/api/autorouter'),
  },
  {
    operation: 'GET /dashboard/qualitative',
    success: async (world) => {
      const { client } = await world.person('user');
      await openPage(client, '/dashboard/qualitative', 'Nothing is judged here');
    },
    badInput: 'none',
    withoutRights: refusesAnonymous('/dashboard/qualitative'),
  },
];

const help = (page: 'autorouter' | 'projects' | 'qualitative'): Scenario => ({
  operation: `POST /dashboard/${page}/help`,
  success: async (world) => {
    const { client, userId } = await world.newPerson();
    expectStatus(await client.post(`/dashboard/${page}/help`, { json: { help: 'closed' } }), 200);
    const [row] = await world.rows<{ closed_help: string[] }>(
      'SELECT closed_help FROM user_setting WHERE user_id = $1',
      [userId],
    );
    expect(row?.closed_help.join() === page, `the explanation stays away: ${JSON.stringify(row)}`);
  },
  badInput: async (world) => {
    const { client } = await world.person('user');
    expectStatus(await client.post(`/dashboard/${page}/help`, { json: { help: 'maybe' } }), 422, 'help');
  },
  withoutRights: refusesAnonymous(`/dashboard/${page}/help`, 'post'),
});

export const keysAndOverviewScenarios: readonly Scenario[] = [
  ...keys,
  ...overview,
  help('autorouter'),
  help('projects'),
  help('qualitative'),
];
