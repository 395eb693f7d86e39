import { expect, eventually } from '../../../operations/http';
import type { PortalUser, World } from '../../../operations/world';
import { openPoint, row, type SpecificationRow } from '../../row';
import {
  ADMIN,
  type Json,
  callTo,
  waitForDial,
  clientOf,
  equal,
  expectFrom,
  expectInvalid,
  uniqueName,
  inHtml,
  okHtml,
  okJson,
  platform,
  expectRejected,
  refusesAnonymous,
  waitUntilServed,
} from './row-helpers';

const rateState = `${ADMIN}/api/key-rate-limit-state`;
const tokenLogs = '/api/admin/token-logs';

interface TokenLogEvent {
  readonly key_name?: string;
  readonly kind?: string;
  readonly source?: string;
  readonly hoursAgo?: number;
  readonly error_kind?: string;
}

/** Inserts events of a supplier without others, oldest first, and returns its name. */
async function insertEvents(world: World, events: readonly TokenLogEvent[]): Promise<string> {
  const provider = uniqueName('supplier');
  for (const {
    key_name: name = 'one',
    kind = 'refreshed',
    source = 'refresh',
    hoursAgo = 0,
    error_kind: error = '',
  } of events)
    await world.rows(
      `INSERT INTO provider_token_event (credential_id, provider, key_name, kind, source, error_kind, at)
       SELECT id, $1, $2, $3, $4, $5, now() - $6 * interval '1 hour' FROM provider_credential LIMIT 1`,
      [provider, name, kind, source, error, hoursAgo],
    );
  return provider;
}

interface TokenLogs {
  readonly data: readonly Json[];
  readonly limit: number;
  readonly offset: number;
  readonly window_hours: number;
}

const logs = async (world: World, query: string): Promise<TokenLogs> =>
  okJson(await (await platform(world)).get(`${tokenLogs}?${query}`)) as unknown as TokenLogs;

const count = async (world: World, query: string): Promise<number> => (await logs(world, query)).data.length;

/** A text filter returns matching entries only; an empty one returns all. */
const filter = (
  name: 'key_name' | 'kinds' | 'source' | 'error_kind',
  [one, other]: readonly [TokenLogEvent, TokenLogEvent],
  expectedValue: string,
): SpecificationRow =>
  row(
    '4.10',
    `\`${name}\` of \`GET ${tokenLogs}\` filters events; its default is empty and filters nothing`,
    async (world) => {
      const provider = await insertEvents(world, [one, other]);
      const counts = [
        await count(world, `provider=${provider}`),
        await count(world, `provider=${provider}&${name}=`),
        await count(world, `provider=${provider}&${name}=${expectedValue}`),
        await count(world, `provider=${provider}&${name}=no-such`),
      ];
      equal(counts, [2, 2, 1, 0], 'without, empty, by one, by another');
    },
  );

const tokenRows: readonly SpecificationRow[] = [
  row(
    '4.10',
    `\`GET ${tokenLogs}\` answers events of tokens, for administrators only`,
    async (world) => {
      const provider = await insertEvents(world, [{ kind: 'refreshed' }]);
      const { data } = await logs(world, `provider=${provider}`);
      equal(
        data.map((event) => [event['provider'], event['kind']]),
        [[provider, 'refreshed']],
        'the events',
      );
      await refusesAnonymous(world, callTo('GET', tokenLogs));
      await expectFrom(world, 'platform_admin', ({ client }) => client.get(tokenLogs));
    },
    {
      decided: openPoint(
        'models, providers and tokens of suppliers belong to the platform, so its administrators',
      ),
    },
  ),
  row(
    '4.10',
    `\`provider\` of \`GET ${tokenLogs}\` filters events; its default is empty and filters nothing`,
    async (world) => {
      const [one, other] = [await insertEvents(world, [{}]), await insertEvents(world, [{}])];
      const providers = async (query: string) =>
        (await logs(world, `limit=1000${query}`)).data.map((event) => event['provider']);
      equal(await providers(`&provider=${one}`), [one], 'one provider');
      for (const query of ['', '&provider=']) {
        const all = await providers(query);
        expect(all.includes(one) && all.includes(other), 'both are told');
      }
    },
  ),
  filter('key_name', [{ key_name: 'one' }, { key_name: 'two' }], 'one'),
  filter('kinds', [{ kind: 'refreshed' }, { kind: 'failed' }], 'failed'),
  filter('source', [{ source: 'refresh' }, { source: 'request' }], 'request'),
  filter('error_kind', [{ error_kind: 'timeout' }, { error_kind: 'refused' }], 'refused'),
  row(
    '4.10',
    `\`limit\` of \`GET ${tokenLogs}\` is how many events are told at most; its default is 100`,
    async (world) => {
      const provider = await insertEvents(
        world,
        Array.from({ length: 101 }, () => ({})),
      );
      const usual = await logs(world, `provider=${provider}`);
      equal([usual.limit, usual.data.length], [100, 100], 'without');
      equal(await count(world, `provider=${provider}&limit=7`), 7, 'with 7');
      equal(await count(world, `provider=${provider}&limit=200`), 101, 'with 200');
    },
  ),
  row(
    '4.10',
    `\`offset\` of \`GET ${tokenLogs}\` is how many events are passed over; its default is 0`,
    async (world) => {
      const provider = await insertEvents(world, [{}, {}, {}]);
      const ids = async (query: string) =>
        (await logs(world, `provider=${provider}${query}`)).data.map((event) => event['id']);
      const all = await ids('');
      equal((await logs(world, `provider=${provider}`)).offset, 0, 'the default');
      equal(all.length, 3, 'all');
      equal(await ids('&offset=2'), all.slice(2), 'after two');
    },
  ),
  row(
    '4.10',
    `\`window_hours\` of \`GET ${tokenLogs}\` is how far back events are told; its default is 24`,
    async (world) => {
      const provider = await insertEvents(world, [{ hoursAgo: 30 }, { hoursAgo: 23 }, { hoursAgo: 1 }]);
      equal((await logs(world, `provider=${provider}`)).window_hours, 24, 'the default');
      const counts = [
        await count(world, `provider=${provider}`),
        await count(world, `provider=${provider}&window_hours=2`),
        await count(world, `provider=${provider}&window_hours=48`),
      ];
      equal(counts, [2, 1, 3], 'within 24, 2 and 48 hours');
    },
  ),
  row(
    '4.10',
    `\`since_ms\` of \`GET ${tokenLogs}\` is the first moment of which events are told; its default is 0`,
    async (world) => {
      const provider = await insertEvents(world, [{ hoursAgo: 5 }, { hoursAgo: 1 }]);
      const since = Date.now() - 2 * 3_600_000;
      const counts = [
        await count(world, `provider=${provider}`),
        await count(world, `provider=${provider}&since_ms=0`),
        await count(world, `provider=${provider}&since_ms=${since}`),
      ];
      equal(counts, [2, 2, 1], 'without, from 0 and from two hours ago');
    },
  ),
];

const figures: readonly SpecificationRow[] = [
  row(
    '4.10',
    `\`GET ${rateState}\` answers the state of the limiter of a customer’s key as JSON`,
    async (world) => {
      const key = await world.newKey(await world.person('user'));
      const client = await clientOf(world, 'org_admin');
      const fetchUsed = async () => {
        const state = okJson(await client.get(`${rateState}?key_id=${key.id}`));
        equal(state['key_id'], key.id, 'the key');
        return state['used'];
      };
      equal(await fetchUsed(), 0, 'before a request');
      await waitUntilServed(key.client, 'sim-small');
      equal(await fetchUsed(), 1, 'after a request');
    },
  ),
  row('4.10', `\`key_id\` of \`GET ${rateState}\` is required`, async (world) => {
    const answer = await (await platform(world)).get(rateState);
    expectInvalid(answer, 'query', 'key_id');
  }),
  row('4.10', `\`GET ${rateState}\` asks for an administrator’s session`, async (world) => {
    const key = await world.newKey(await world.person('user'));
    const path = `${rateState}?key_id=${key.id}`;
    await refusesAnonymous(world, callTo('GET', path));
    expectRejected(await (await clientOf(world, 'user')).get(path), 403, 'permission_denied');
    okJson(await (await clientOf(world, 'org_admin')).get(path));
  }),
  row(
    '4.10',
    `\`GET ${rateState}\` is limited to keys of the administrator’s organisation`,
    async (world) => {
      const key = await world.newKey(await world.person('user'));
      const stranger = await world.stranger('org_owner');
      expectRejected(await stranger.client.get(`${rateState}?key_id=${key.id}`), 404, 'not_found');
      okJson(await (await platform(world)).get(`${rateState}?key_id=${key.id}`));
    },
  ),
  row(
    '4.10',
    `\`GET ${ADMIN}/api/proxy-health\` answers the health of the token pools of proxied providers`,
    async (world) => {
      const suppliers = await world.suppliers();
      const client = await platform(world);
      const poolsOf = async () => okJson(await client.get(`${ADMIN}/api/proxy-health`))['pools'] as Json[];
      const pools = await poolsOf();
      equal(
        pools.map(({ provider }) => provider),
        ['native'],
        'the providers with a pool',
      );
      equal([pools[0]?.['state'], pools[0]?.['usable']], ['healthy', 1], 'the pool before');
      await suppliers.fault('native', 'sim-spec-native', { kind: 'status', status: 401 });
      const key = await world.newKey(await world.person('user'));
      const input = [{ type: 'message', role: 'user', content: 'Hello' }];
      const json = { model: 'spec-native', input, stream: true };
      expect(
        (await key.client.post('/v1/native/responses', { json })).status >= 500,
        'a refused token served',
      );
      await eventually(async () => (await poolsOf())[0]?.['state'] === 'down', 'the refused token is seen');
      equal((await poolsOf())[0]?.['usable'], 0, 'usable tokens');
      await refusesAnonymous(world, callTo('GET', `${ADMIN}/api/proxy-health`));
    },
  ),
  row('4.10', `\`GET ${ADMIN}/api/dashboard\` answers the figures of charts and incidents`, async (world) => {
    const client = await platform(world);
    const figures = async () => {
      const { steps, incidents } = okJson(await client.get(`${ADMIN}/api/dashboard`)) as {
        steps: Json[];
        incidents: unknown;
      };
      expect(Array.isArray(incidents), `incidents: ${JSON.stringify(incidents)}`);
      return steps.reduce((sum, step) => sum + Number(step['requests']), 0);
    };
    const before = await figures();
    const key = await world.newKey(await world.person('user'));
    await waitUntilServed(key.client);
    // Records of earlier rows can arrive meanwhile.
    await eventually(async () => (await figures()) > before, 'one more request is in the chart');
  }),
  row(
    '4.10',
    `\`GET ${ADMIN}/api/usage\` answers the usage of the user \`user_id\`, filtered`,
    async (world) => {
      const person = await world.newPerson({ organisationId: world.organisationId });
      const other = await world.newPerson({ organisationId: world.organisationId });
      const key = await world.newKey(person);
      await waitUntilServed(key.client, 'sim-small');
      const client = await clientOf(world, 'org_admin');
      const requests = async (query: string): Promise<unknown> =>
        (okJson(await client.get(`${ADMIN}/api/usage?${query}`))['total'] as Json)['requests'];
      await eventually(
        async () => (await requests(`user_id=${person.userId}`)) === 1,
        'the request is counted',
      );
      equal(await requests(`user_id=${person.userId}&model=sim-small`), 1, 'with its model');
      equal(await requests(`user_id=${person.userId}&model=sim-large`), 0, 'with another model');
      equal(await requests(`user_id=${other.userId}`), 0, 'of another user');
    },
  ),
];

const conversations = `${ADMIN}/conversations`;

export async function createTalk(world: World): Promise<{ person: PortalUser; id: number }> {
  const person = await world.newPerson({ organisationId: world.organisationId });
  const { id } = okJson(await person.client.post('/api/conversations', { json: { model: 'sim-small' } }));
  okJson(await person.client.post(`/api/chat/${Number(id)}`, { json: { content: 'Hi' } }));
  return { person, id: Number(id) };
}

const conversationRows: readonly SpecificationRow[] = [
  row('4.10', `\`GET ${conversations}\` is a page`, async (world) => {
    const { id } = await createTalk(world);
    okHtml(await (await clientOf(world, 'org_admin')).get(conversations), `${conversations}/${id}"`);
  }),
  row('4.10', `\`GET ${conversations}/{conv_id}\` is a page`, async (world) => {
    const { id, person } = await createTalk(world);
    okHtml(
      await (await clientOf(world, 'org_admin')).get(`${conversations}/${id}`),
      `Conversation ${id}`,
      person.email.split('@')[0] ?? '',
    );
  }),
  row('4.10', '`DELETE /api/admin/conversations/{conv_id}` deletes a conversation', async (world) => {
    const { id, person } = await createTalk(world);
    okJson(await (await clientOf(world, 'org_admin')).delete(`/api/admin/conversations/${id}`));
    expectRejected(await person.client.get(`/dashboard/webchat/${id}`), 404, 'not_found');
  }),
];

const quality = '/dashboard/qualitative/settings';

const engines: readonly SpecificationRow[] = [
  row('4.10', `\`GET ${quality}\` is the page of controls for administrators`, async (world) => {
    okHtml(await (await clientOf(world, 'org_admin')).get(quality), 'name="availability"');
    await refusesAnonymous(world, callTo('GET', quality));
    expectRejected(await (await clientOf(world, 'user')).get(quality), 403, 'permission_denied');
  }),
  row('4.10', `\`POST ${quality}\` controls the availability of qualitative reports`, async (world) => {
    const client = await clientOf(world, 'org_owner');
    for (const availability of ['off', 'everyone']) {
      const { settings } = okJson(await client.post(quality, { json: { availability } })) as {
        settings: Json;
      };
      equal(settings['availability'], availability, 'the availability');
    }
  }),
  row('4.10', `\`POST ${quality}\` controls the autorouter policy`, async (world) => {
    const client = await clientOf(world, 'org_owner');
    for (const dial of [3, 4]) {
      okJson(await client.post(quality, { json: { dial } }));
      okHtml(await client.get(quality, inHtml));
      const { policy } = okJson(await client.get('/dashboard/api/autorouter')) as {
        policy: { effective: Json };
      };
      equal(policy.effective['dial'], dial, 'what is in force');
    }
  }),
  row(
    '4.10',
    `\`POST ${ADMIN}/autorouter/org\` keeps autorouter settings of an organisation`,
    async (world) => {
      const client = await clientOf(world, 'org_owner');
      for (const dial of [8, 5]) {
        okJson(await client.post(`${ADMIN}/autorouter/org`, { json: { dial } }));
        const member = await world.newPerson({ organisationId: world.organisationId });
        const { policy } = okJson(await member.client.get('/dashboard/api/autorouter')) as {
          policy: { effective: Json };
        };
        equal(policy.effective['dial'], dial, 'what is in force for a member');
      }
    },
  ),
  row(
    '4.10',
    `\`POST ${ADMIN}/autorouter/api-key\` keeps autorouter settings of a key, by which its calls are chosen`,
    async (world) => {
      const key = await world.newKey(await world.person('user'));
      const json = { key_id: key.id, mode: 'on', dial: 2 };
      const path = `${ADMIN}/autorouter/api-key`;
      const { settings } = okJson(await (await clientOf(world, 'org_admin')).post(path, { json })) as {
        settings: Json;
      };
      equal(settings['dial'], 2, 'the setting');
      expectRejected(await (await world.stranger('org_owner')).client.post(path, { json }), 404, 'not_found');
      await waitForDial(key, 2);
    },
  ),
];

export const oversightRows: readonly SpecificationRow[] = [
  ...figures,
  ...tokenRows,
  ...engines,
  ...conversationRows,
];
