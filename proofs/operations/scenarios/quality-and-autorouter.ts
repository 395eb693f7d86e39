import { type ReadResponse, expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';

const quality = '/dashboard/qualitative/settings';
const organisation = '/dashboard/admin/autorouter/org';
const key = '/dashboard/admin/autorouter/api-key';
const own = '/dashboard/autorouter/user';
const ownKey = '/dashboard/autorouter/api-key';

/** Expects the response to show the stored value. */
function expectStored(answer: ReadResponse, field: string, value: unknown): void {
  expectStatus(answer, 200);
  const { settings } = jsonOf(answer);
  expect((settings as Record<string, unknown>)[field] === value, `${field} is stored: ${answer.text}`);
}

const refuses =
  (path: string, json: object, field: string) =>
  async (world: World): Promise<void> =>
    expectStatus(await (await world.person('org_owner')).client.post(path, { json }), 422, field);

const withoutRights =
  (path: string) =>
  async (world: World): Promise<void> => {
    expectStatus(await world.anonymous.post(path, { json: {} }), 401);
    expectStatus(
      await (await world.person('user')).client.post(path, { json: {} }),
      403,
      'permission_denied',
    );
  };

export const engineScenarios: readonly Scenario[] = [
  {
    operation: 'GET /dashboard/qualitative/settings',
    success: async (world) => {
      const { client } = await world.person('org_admin');
      expectStored(
        await client.post(quality, { json: { content_retention_days: 9 } }),
        'content_retention_days',
        9,
      );
      const page = await client.get(quality);
      expectStatus(page, 200);
      expect(/name="content_retention_days"[^>]* value="9"/.test(page.text), 'the page shows what is stored');
    },
    badInput: 'none',
    withoutRights: async (world) => {
      expectStatus(await world.anonymous.get(quality), 401);
      expectStatus(await (await world.person('user')).client.get(quality), 403);
    },
  },
  {
    operation: 'POST /dashboard/qualitative/settings',
    success: async (world) => {
      const { client } = await world.person('org_owner');
      for (const share of [3, 4])
        expectStored(
          await client.post(quality, { json: { sampling_percent: share } }),
          'sampling_percent',
          share,
        );
      const [entry] = await world.rows<{ changes: object }>(
        `SELECT changes FROM activity WHERE action = 'qualitative.settings-changed' ORDER BY id DESC LIMIT 1`,
      );
      expect(JSON.stringify(entry?.changes) === '{"sampling_percent":[3,4]}', 'the change is on record');
    },
    badInput: refuses(quality, { availability: 'some' }, 'availability'),
    withoutRights: withoutRights(quality),
  },
  {
    operation: 'POST /dashboard/admin/autorouter/org',
    success: async (world) => {
      const { client } = await world.person('org_owner');
      expectStored(await client.post(organisation, { json: { dial: 8 } }), 'dial', 8);
      expect(/name="dial"[^>]* value="8"/.test((await client.get(quality)).text), 'the page shows it');
      const stranger = (await world.stranger('org_owner')).client;
      const otherPage = (await stranger.get(quality)).text;
      expect(!/name="dial"[^>]* value="8"/.test(otherPage), 'another organisation has its own');
    },
    badInput: refuses(organisation, { mode: 'perhaps' }, 'mode'),
    withoutRights: async (world) => {
      await withoutRights(organisation)(world);
      const { client } = await world.stranger('org_owner');
      expectStatus(await client.post(organisation, { json: { org_id: world.organisationId, dial: 1 } }), 404);
    },
  },
  {
    operation: 'POST /dashboard/admin/autorouter/api-key',
    success: async (world) => {
      const { id } = await world.newKey(await world.person('user'));
      const { client } = await world.person('org_admin');
      expectStored(await client.post(key, { json: { key_id: id, mode: 'shadow' } }), 'mode', 'shadow');
      expectStored(await client.post(key, { json: { key_id: id, dial: 2 } }), 'mode', 'shadow');
    },
    badInput: refuses(key, { mode: 'on' }, 'key_id'),
    withoutRights: async (world) => {
      await withoutRights(key)(world);
      const { id } = await world.newKey(await world.person('user'));
      const { client } = await world.stranger('org_owner');
      expectStatus(await client.post(key, { json: { key_id: id, mode: 'off' } }), 404);
    },
  },
  {
    operation: 'POST /dashboard/autorouter/user',
    success: async (world) => {
      const { client } = await world.newPerson();
      expectStored(await client.post(own, { json: { dial: 9 } }), 'dial', 9);
      const repeat = await client.post(own, { json: { mode: 'on' } });
      expectStored(repeat, 'dial', 9);
      const { effective } = jsonOf(repeat) as { effective: { sources: { dial?: string } } };
      expect(effective.sources.dial === 'user', 'the level that decided is named');
    },
    badInput: async (world) => {
      const { client } = await world.newPerson();
      expectStatus(
        await client.post(own, { json: { algorithm: 'guess' } }),
        422,
        'unsupported_autorouter_algorithm',
      );
      expectStatus(await client.post(own, { json: { mode: 'perhaps' } }), 422, 'unsupported_auto_mode');
      expectStatus(await client.post(own, { json: { dial: 11 } }), 422, 'validation_error');
    },
    withoutRights: async (world) => expectStatus(await world.anonymous.post(own, { json: {} }), 401),
  },
  {
    operation: 'POST /dashboard/autorouter/api-key',
    success: async (world) => {
      const person = await world.newPerson();
      const { id } = await world.newKey(person);
      expectStored(
        await person.client.post(ownKey, { json: { key_id: id, exclude: ['sim-large'] } }),
        'mode',
        'shadow',
      );
      const repeat = await person.client.post(ownKey, { json: { key_id: id, mode: 'on' } });
      const { settings } = jsonOf(repeat) as { settings: { exclude?: string[] } };
      expect(settings.exclude?.join() === 'sim-large', 'what is not given stays');
    },
    badInput: refuses(ownKey, { mode: 'on' }, 'key_id'),
    withoutRights: async (world) => {
      expectStatus(await world.anonymous.post(ownKey, { json: {} }), 401);
      const { id } = await world.newKey(await world.newPerson());
      const stranger = (await world.newPerson()).client;
      expectStatus(await stranger.post(ownKey, { json: { key_id: id, mode: 'off' } }), 404);
    },
  },
];
