import { expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';
import { engineScenarios } from './quality-and-autorouter';

const refusesOthers =
  (path: string, role: 'user' | 'org_owner') =>
  async (world: World): Promise<void> => {
    expectStatus(await world.anonymous.get(path), 401);
    expectStatus(await (await world.person(role)).client.get(path), 403, 'permission_denied');
  };

/** Creates a log entry of the own organisation: an administrator exports the log once. */
async function createLogEntry(world: World): Promise<void> {
  const { client } = await world.person('org_admin');
  expectStatus(await client.get('/dashboard/admin/audit/export?object=proof'), 200);
}

const audit = '/dashboard/admin/audit';

export const oversightScenarios: readonly Scenario[] = [
  {
    operation: 'GET /dashboard/admin/audit',
    success: async (world) => {
      await createLogEntry(world);
      const query = '?action=log.exported';
      const own = await (await world.person('org_owner')).client.get(`${audit}${query}`);
      expectStatus(own, 200);
      const { email } = await world.person('org_admin');
      expect(own.text.includes(email), 'the export of our administrator is on the log');
      const foreign = await (await world.stranger('org_owner')).client.get(`${audit}${query}`);
      expectStatus(foreign, 200);
      expect(!foreign.text.includes(email), 'the other organisation does not see it');
      const all = await (await world.person('platform_admin')).client.get(`${audit}${query}`);
      expect(all.text.includes(email), 'the platform sees it');
    },
    badInput: async (world) =>
      expectStatus(
        await (await world.person('org_admin')).client.get(`${audit}?from=never`),
        422,
        'validation_error',
      ),
    withoutRights: refusesOthers(audit, 'user'),
  },
  {
    operation: 'GET /dashboard/admin/audit/export',
    success: async (world) => {
      await createLogEntry(world);
      const { client } = await world.person('org_admin');
      const file = await client.get(`${audit}/export?action=log.exported`);
      expectStatus(file, 200);
      expect(file.headers.get('content-type')?.startsWith('text/csv') === true, 'it is a file');
      expect(Number(file.headers.get('x-svc-export-capped-at')) > 0, 'the cap is told');
      const [header, first] = file.text.split('\r\n');
      expect(header?.startsWith('occurred_at,') === true, 'columns have names');
      expect(first?.includes('log.exported') === true, 'the earlier export is in the file');
    },
    badInput: async (world) =>
      expectStatus(
        await (await world.person('org_admin')).client.get(`${audit}/export?type=none`),
        422,
        'validation_error',
      ),
    withoutRights: refusesOthers(`${audit}/export`, 'user'),
  },
  {
    operation: 'GET /api/admin/token-logs',
    success: async (world) => {
      await world.rows(
        `INSERT INTO provider_token_event (credential_id, provider, key_name, kind, source)
         SELECT id, 'proof', 'proof', 'refreshed', 'refresh' FROM provider_credential LIMIT 1`,
      );
      const [known] = await world.rows<{ count: string }>(
        `SELECT count(*) FROM provider_token_event WHERE provider = 'proof'`,
      );
      const answer = await (
        await world.person('platform_admin')
      ).client.get('/api/admin/token-logs?provider=proof&limit=1000');
      expectStatus(answer, 200);
      const { data, limit, offset, window_hours: hours } = jsonOf(answer);
      expect((data as unknown[]).length === Number(known?.count), 'every event is told');
      expect(limit === 1_000 && offset === 0 && hours === 24, 'what was asked for is said');
    },
    badInput: async (world) =>
      expectStatus(
        await (await world.person('platform_admin')).client.get('/api/admin/token-logs?limit=0'),
        422,
        'limit',
      ),
    withoutRights: refusesOthers('/api/admin/token-logs', 'org_owner'),
  },
  {
    operation: 'GET /dashboard/admin/api/proxy-health',
    success: async (world) => {
      const answer = await (
        await world.person('platform_admin')
      ).client.get('/dashboard/admin/api/proxy-health');
      expectStatus(answer, 200);
      const [known] = await world.rows<{ count: string }>(
        `SELECT count(DISTINCT provider_id) FROM provider_credential WHERE kind = 'oauth-pool' AND disabled_at IS NULL`,
      );
      expect((jsonOf(answer)['pools'] as unknown[]).length === Number(known?.count), 'each pool is told');
    },
    badInput: 'none',
    withoutRights: refusesOthers('/dashboard/admin/api/proxy-health', 'org_owner'),
  },
  {
    operation: 'GET /dashboard/admin/api/key-rate-limit-state',
    success: async (world) => {
      const key = await world.newKey(await world.person('user'));
      const path = `/dashboard/admin/api/key-rate-limit-state?key_id=${key.id}`;
      const { client } = await world.person('org_admin');
      const before = Number(jsonOf(await client.get(path))['used']);
      expectStatus(
        await key.client.post('/v1/chat/completions', {
          json: { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }] },
        }),
        200,
      );
      const after = jsonOf(await client.get(path));
      expect(before === 0 && after['used'] === 1, `the request counts: ${JSON.stringify(after)}`);
    },
    badInput: async (world) =>
      expectStatus(
        await (await world.person('org_admin')).client.get('/dashboard/admin/api/key-rate-limit-state'),
        422,
        'key_id',
      ),
    withoutRights: async (world) => {
      const key = await world.newKey(await world.person('user'));
      const path = `/dashboard/admin/api/key-rate-limit-state?key_id=${key.id}`;
      await refusesOthers(path, 'user')(world);
      expectStatus(await (await world.stranger('org_owner')).client.get(path), 404);
    },
  },
  {
    operation: 'GET /dashboard/admin/api/dashboard',
    success: async (world) => {
      const path = '/dashboard/admin/api/dashboard';
      // A separate organisation, because requests of earlier scenarios might still be settling in the others.
      const [made] = await world.rows<{ id: number }>(
        "INSERT INTO organisation (name, slug) VALUES ('Counted', 'counted') RETURNING id",
      );
      const organisationId = made?.id ?? null;
      const { client } = await world.newPerson({ role: 'org_admin', organisationId });
      const requests = async (viewer = client): Promise<number> =>
        Number((jsonOf(await viewer.get(path))['total'] as { requests: number }).requests);
      const key = await world.newKey(await world.newPerson({ organisationId }));
      const response = await key.client.post('/v1/chat/completions', {
        json: { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }] },
      });
      expectStatus(response, 200);
      const deadline = Date.now() + 5_000;
      while ((await requests()) === 0 && Date.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 50));
      expect((await requests()) === 1, 'the request is counted');
      const all = jsonOf(await (await world.person('platform_admin')).client.get(path));
      expect((all['providers'] as unknown[]).length > 0, 'the platform sees how providers stand');
      expect(Array.isArray(all['incidents']), 'and incidents');
      expect(jsonOf(await client.get(path))['providers'] === null, 'an organisation does not');
    },
    badInput: async (world) =>
      expectStatus(
        await (await world.person('org_admin')).client.get('/dashboard/admin/api/dashboard?hours=5'),
        422,
        'hours',
      ),
    withoutRights: refusesOthers('/dashboard/admin/api/dashboard', 'user'),
  },
  ...engineScenarios,
];
