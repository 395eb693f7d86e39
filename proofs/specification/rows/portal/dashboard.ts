import { expect, expectStatus, eventually } from '../../../operations/http';
import type { PortalUser, World } from '../../../operations/world';
import { row, type SpecificationRow } from '../../row';
import {
  type Json,
  callTo,
  call,
  callAuto,
  waitForDial,
  clientOf,
  equal,
  expectFrom,
  uniqueName,
  inHtml,
  expectRedirect,
  okCsv,
  okHtml,
  okJson,
  expectRejected,
  refusesAnonymous,
} from './row-helpers';

/** A member of the own organisation with one recorded request. */
export async function createRequest(
  world: World,
): Promise<{ person: PortalUser; requestId: string; keyId: number }> {
  const person = await world.newPerson({ organisationId: world.organisationId });
  const { client, id } = await world.newKey(person);
  const answer = await call(client, 'sim-small');
  expectStatus(answer, 200);
  const requestId = answer.headers.get('x-request-id') ?? '';
  await eventually(async () => {
    const rows = await world.rows('SELECT 1 FROM request_record WHERE request_id = $1', [requestId]);
    return rows.length === 1;
  }, 'the request is on record');
  return { person, requestId, keyId: id };
}

const pages: readonly [path: string, text: string][] = [
  ['/dashboard', '</h1>'],
  ['/dashboard/guide', '</h1>'],
  ['/dashboard/keys', 'href="/dashboard/keys/new"'],
  ['/dashboard/models', 'sim-small'],
  ['/dashboard/usage', '</h1>'],
  ['/dashboard/request-log', 'href="/dashboard/request-log/export'],
  ['/dashboard/activity', '</h1>'],
  ['/dashboard/billing', '</h1>'],
  ['/dashboard/qualitative', '</h1>'],
  ['/dashboard/webchat', '</h1>'],
];

const pageRows = pages.map(([path, text]) =>
  row('4.10', `\`GET ${path}\` is a page for people who are signed in: 200, \`text/html\``, async (world) => {
    okHtml(await (await clientOf(world, 'user')).get(path), text);
    await refusesAnonymous(world, callTo('GET', path));
    expectRedirect(await world.anonymous.get(path, inHtml), `/login?next=${encodeURIComponent(path)}`);
  }),
);

const autorouter: readonly SpecificationRow[] = [
  row('4.10', '`GET /dashboard/autorouter` is a page', async (world) => {
    okHtml(await (await clientOf(world, 'user')).get('/dashboard/autorouter'), 'auto');
  }),
  row('4.10', '`days` of `GET /dashboard/autorouter` is a whole number; its default is 30', async (world) => {
    const client = await clientOf(world, 'user');
    const path = '/dashboard/autorouter';
    for (const [query, days] of [
      ['', 30],
      ['?days=7', 7],
    ] as const)
      okHtml(await client.get(`${path}${query}`), `Last ${days} days`, `days=${days}" aria-current`);
  }),
  row(
    '4.10',
    '`GET /dashboard/api/autorouter` answers the figures of automatic choice as JSON',
    async (world) => {
      const person = await world.newPerson();
      const figures = async () => okJson(await person.client.get('/dashboard/api/autorouter'));
      equal((await figures())['requests'], 0, 'requests before');
      expectStatus(await callAuto(await world.newKey(person)), 200);
      await eventually(async () => (await figures())['requests'] === 1, 'the request is counted');
      const { by_day: days, decisions } = await figures();
      expect(Array.isArray(days) && days.length > 0, `figures by day: ${JSON.stringify(days)}`);
      equal((decisions as unknown[]).length, 1, 'decisions');
      await refusesAnonymous(world, callTo('GET', '/dashboard/api/autorouter'));
    },
  ),
  row(
    '4.10',
    '`days` of `GET /dashboard/api/autorouter` is a whole number; its default is 30',
    async (world) => {
      const client = await clientOf(world, 'user');
      equal(okJson(await client.get('/dashboard/api/autorouter'))['days'], 30, 'the default');
      equal(okJson(await client.get('/dashboard/api/autorouter?days=7'))['days'], 7, 'what was asked for');
    },
  ),
  row('4.10', '`POST /dashboard/autorouter/user` keeps autorouter settings of the person', async (world) => {
    const { client } = await world.newPerson();
    okJson(await client.post('/dashboard/autorouter/user', { json: { mode: 'on', dial: 9 } }));
    const { policy } = okJson(await client.get('/dashboard/api/autorouter')) as {
      policy: { effective: Json };
    };
    equal([policy.effective['mode'], policy.effective['dial']], ['on', 9], 'what is in force');
  }),
  row(
    '4.10',
    '`POST /dashboard/autorouter/api-key` keeps autorouter settings of a key, by which its calls are chosen',
    async (world) => {
      const person = await world.newPerson();
      const key = await world.newKey(person);
      const path = '/dashboard/autorouter/api-key';
      const json = { key_id: key.id, mode: 'on', dial: 8 };
      const { settings } = okJson(await person.client.post(path, { json })) as { settings: Json };
      equal(settings['dial'], 8, 'the setting');
      const stranger = await world.newPerson();
      expectRejected(
        await stranger.client.post(path, { json: { key_id: key.id, dial: 1 } }),
        404,
        'not_found',
      );
      await waitForDial(key, 8);
    },
  ),
  ...(['autorouter', 'projects', 'qualitative'] as const).map((page) =>
    row('4.10', `\`POST /dashboard/${page}/help\` updates whether the page shows its help`, async (world) => {
      const role = page === 'projects' ? 'org_admin' : 'user';
      const { client } = await world.newPerson({ role, organisationId: world.organisationId });
      const path = page === 'projects' ? '/dashboard/admin/projects' : `/dashboard/${page}`;
      for (const help of ['closed', 'open']) {
        okJson(await client.post(`/dashboard/${page}/help`, { json: { help } }));
        const isHelpOpen = okHtml(await client.get(path, inHtml)).includes('id="page-help-heading"');
        equal(isHelpOpen, help === 'open', `help is shown on the page when ${help}`);
      }
      await refusesAnonymous(world, callTo('POST', `/dashboard/${page}/help`, { json: { help: 'open' } }));
    }),
  ),
];

interface UsageBody {
  readonly bucket: string;
  readonly total: { readonly requests: number };
  readonly data: readonly { readonly start: string; readonly end: string; readonly requests: number }[];
}

const reports: readonly SpecificationRow[] = [
  row('4.10', '`GET /dashboard/api/usage` answers usage in buckets', async (world) => {
    const { person } = await createRequest(world);
    const usage = okJson(
      await person.client.get('/dashboard/api/usage?bucket=hour&days=1'),
    ) as unknown as UsageBody;
    equal(usage.bucket, 'hour', 'the bucket');
    const sum = usage.data.reduce((all, { requests }) => all + requests, 0);
    equal([sum, usage.total.requests], [1, 1], 'requests of the buckets and in all');
    for (const { start, end } of usage.data)
      equal(Date.parse(end) - Date.parse(start) <= 3_600_000, true, `a bucket from ${start} to ${end}`);
  }),
  row(
    '4.10',
    '`GET /dashboard/api/usage` counts what the person used, and nothing of others',
    async (world) => {
      await createRequest(world);
      const { client } = await world.newPerson({ organisationId: world.organisationId });
      const usage = okJson(await client.get('/dashboard/api/usage')) as unknown as UsageBody;
      equal(usage.total.requests, 0, 'requests of a colleague');
    },
  ),
  row(
    '4.10',
    '`GET /dashboard/api/usage` stays the person’s own in the view of the administration',
    async (world) => {
      await createRequest(world);
      const { client } = await world.newPerson({ role: 'org_admin', organisationId: world.organisationId });
      okJson(await client.post('/dashboard/toggle-admin-mode', { json: { admin_mode: 'on' } }));
      const usage = okJson(await client.get('/dashboard/api/usage')) as unknown as UsageBody;
      equal(usage.total.requests, 0, 'requests of others');
    },
  ),
  row('4.10', '`GET /dashboard/request-log/export` answers the request log as CSV', async (world) => {
    const { person, requestId } = await createRequest(world);
    const { columns, lines } = okCsv(await person.client.get('/dashboard/request-log/export'));
    expect(columns.includes('request_id'), `columns: ${columns.join()}`);
    expect(lines.length === 1 && lines[0]?.includes(requestId) === true, `lines: ${lines.join('\n')}`);
  }),
  row('4.10', 'The export of the request log holds what the filters leave', async (world) => {
    const { person, requestId } = await createRequest(world);
    const lines = async (query: string) =>
      okCsv(await person.client.get(`/dashboard/request-log/export?${query}`)).lines;
    expect((await lines('model=sim-small')).join().includes(requestId), 'with the model of the request');
    equal(await lines('model=sim-large'), [], 'with another model');
    equal(await lines('status=5xx'), [], 'with another status');
  }),
];

const keys: readonly SpecificationRow[] = [
  row('4.10', '`GET /dashboard/keys/new` is the form for a new key', async (world) => {
    okHtml(await (await clientOf(world, 'user')).get('/dashboard/keys/new'), 'action="/dashboard/keys/new"');
  }),
  row('4.10', '`POST /dashboard/keys/new` creates a key', async (world) => {
    const { client } = await world.newPerson();
    const name = uniqueName('key');
    const creation = okJson(await client.post('/dashboard/keys/new', { json: { name } }));
    const key = world.anonymous.with({ authorization: `Bearer ${String(creation['key'])}` });
    expectStatus(await key.get('/v1/models'), 200);
    okHtml(await client.get('/dashboard/keys'), name);
  }),
  row('4.10', '`GET /dashboard/keys/{key_id}` is the page of a key', async (world) => {
    const person = await world.newPerson();
    const name = uniqueName('key');
    const { id } = await world.newKey(person, name);
    okHtml(await person.client.get(`/dashboard/keys/${id}`), name);
    expectRejected(await (await world.newPerson()).client.get(`/dashboard/keys/${id}`), 404, 'not_found');
  }),
  row('4.10', '`POST /dashboard/keys/{key_id}` updates a key', async (world) => {
    const person = await world.newPerson();
    const { id, publicId } = await world.newKey(person);
    const name = uniqueName('key');
    okJson(await person.client.post(`/dashboard/keys/${id}`, { json: { name, budget_limit: 3 } }));
    const storedKey = okJson(await world.rootKey.get(`/v1/manage/keys/${publicId}`));
    equal([storedKey['name'], storedKey['budget_limit']], [name, 3], 'the key');
  }),
];

const toggle = '/dashboard/toggle-admin-mode';

/** Both routes narrow the administration view; the totals of its first page show the scope. */
const narrowing = (name: 'set-admin-org' | 'set-admin-domain'): SpecificationRow[] => {
  const path = `/dashboard/${name}`;
  const alias = name === 'set-admin-domain';
  return [
    row(
      alias ? '9.5' : '4.10',
      alias
        ? '`POST /dashboard/set-admin-domain` is an alias of `/dashboard/set-admin-org`: it takes `org_id`'
        : '`POST /dashboard/set-admin-org` narrows the view of the administration to the organisation `org_id`',
      async (world) => {
        const { client } = await world.newPerson({ role: 'platform_admin' });
        const to = world.otherOrganisationId;
        equal(okJson(await client.post(path, { json: { org_id: to } }))['org_id'], to, 'narrowed to');
        const stranger = await world.stranger('user');
        const own = await world.person('user');
        const list = okHtml(await client.get('/dashboard/admin/users', inHtml), stranger.email);
        expect(!list.includes(own.email), 'people of other organisations are left out');
      },
    ),
    row('9.5', `\`POST ${path}\` takes \`domain\` where \`org_id\` is not sent`, async (world) => {
      const { client } = await world.newPerson({ role: 'platform_admin' });
      const answer = okJson(await client.post(path, { json: { domain: 'theirs' } }));
      equal(answer['org_id'], world.otherOrganisationId, 'narrowed to');
      const both = { domain: 'theirs', org_id: world.organisationId };
      equal(
        okJson(await client.post(path, { json: both }))['org_id'],
        world.organisationId,
        'org_id comes first',
      );
    }),
    row('4.10', `\`POST ${path}\` is for platform administrators only`, async (world) => {
      const json = { org_id: world.organisationId };
      await refusesAnonymous(world, callTo('POST', path, { json }));
      await expectFrom(world, 'platform_admin', async ({ client }) => client.post(path, { json }));
    }),
  ];
};

const views: readonly SpecificationRow[] = [
  row(
    '4.10',
    '`POST /dashboard/toggle-admin-mode` changes between the view of administrators and of users',
    async (world) => {
      const { client } = await world.newPerson({ role: 'org_admin', organisationId: world.organisationId });
      const modes = [
        okJson(await client.post(toggle, { json: {} }))['admin_mode'],
        okJson(await client.post(toggle, { json: {} }))['admin_mode'],
      ];
      equal(modes, [true, false], 'the view after each time');
    },
  ),
  row('4.10', '`POST /dashboard/toggle-admin-mode` is for administrators only', async (world) => {
    await refusesAnonymous(world, callTo('POST', toggle, { json: {} }));
    await expectFrom(world, 'department_admin', async ({ client }) =>
      client.post(toggle, { json: { admin_mode: 'off' } }),
    );
  }),
  ...narrowing('set-admin-org'),
  ...narrowing('set-admin-domain'),
];

/** Creates an evaluated request of an own member, then turns sampling off. */
export async function createEvaluatedRequest(
  world: World,
): Promise<{ person: PortalUser; requestId: string }> {
  const owner = await clientOf(world, 'org_owner');
  const on = {
    availability: 'everyone',
    sampling_percent: 100,
    sample_named: true,
    content_retention_days: 0,
  };
  okJson(await owner.post('/dashboard/qualitative/settings', { json: on }));
  const { person, requestId } = await createRequest(world);
  await eventually(async () => {
    const [sample] = await world.rows<{ state: string }>(
      'SELECT state FROM quality_sample WHERE request_id = $1',
      [requestId],
    );
    return sample?.state === 'learned';
  }, 'the answer is judged and learned');
  const noSampling = { sampling_percent: 0 };
  okJson(await owner.post('/dashboard/qualitative/settings', { json: noSampling }));
  return { person, requestId };
}

const quality: readonly SpecificationRow[] = [
  row(
    '4.10',
    '`GET /dashboard/qualitative/detail/{request_id}` answers one score row as JSON',
    async (world) => {
      const { person, requestId } = await createEvaluatedRequest(world);
      const path = `/dashboard/qualitative/detail/${requestId}`;
      const { row: scored } = okJson(await person.client.get(path)) as { row: Json };
      equal(scored['request_id'], requestId, 'the row');
      expect(typeof scored['score_total'] === 'number', `its score: ${JSON.stringify(scored)}`);
      expectRejected(await (await world.stranger('org_owner')).client.get(path), 404, 'not_found');
    },
  ),
  row(
    '4.10',
    '`GET /dashboard/qualitative/export` answers the score rows that the person may see as CSV',
    async (world) => {
      const { person, requestId } = await createEvaluatedRequest(world);
      const { columns, lines } = okCsv(await person.client.get('/dashboard/qualitative/export'));
      expect(columns.includes('score_total'), `columns: ${columns.join()}`);
      expect(lines.join('\n').includes(requestId), 'the row of the request');
      const stranger = await world.stranger('org_owner');
      const foreign = await stranger.client.get('/dashboard/qualitative/export');
      expectStatus(foreign, 200);
      expect(!foreign.text.includes(requestId), 'a stranger does not see it');
    },
  ),
];

export const dashboardRows: readonly SpecificationRow[] = [
  ...pageRows,
  ...autorouter,
  ...reports,
  ...keys,
  ...views,
  ...quality,
];
