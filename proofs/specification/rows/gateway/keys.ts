import { type Client, expect, expectStatus, jsonOf } from '../../../operations/http';
import { openPoint, row, type SpecificationRow } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  at,
  chat,
  chatOf,
  field,
  headerOf,
  listAt,
  manage,
  numberAt,
  ok,
  okJson,
  recordOf,
  expectRejected,
  same,
  textAt,
} from './gateway-calls';
import { auditRows } from './key-audit';

const SECTION = '2.2';
const HOUR_MS = 3_600_000;

const ALL_FIELDS = {
  name: 'whole',
  allowed_models: ['spec-chat', 'spec-embed'],
  allowed_regions: 'eu',
  budget_limit: 12.5,
  budget_period: 'monthly',
  rate_limit_rpm: 77,
  metadata: { cost: 'four', team: 'search' },
};

const create = (world: SpecificationWorld, json: unknown) => world.rootKey.post(manage, { json });
const createKey = (world: SpecificationWorld, more: object = {}) =>
  okJson(create(world, { name: 'made', ...more }));

/** Creates a key bypassing the breaking proxy and reads it with the root key. */
async function createAndRead(
  world: SpecificationWorld,
  fields: object = {},
): Promise<Record<string, unknown>> {
  const { id } = await world.keyWith({ name: 'read', ...fields });
  return okJson(world.rootKey.get(`${manage}/${id}`));
}

const refuses =
  (name: string, ...values: unknown[]) =>
  async (world: SpecificationWorld) => {
    for (const value of values)
      await expectRejected(create(world, { ...ALL_FIELDS, [name]: value }), 400, 'invalid_request', name);
  };

const createRows: readonly SpecificationRow[] = [
  row(SECTION, '`name` is a string, kept as the label of the key', async (world) => {
    const key = await createKey(world, { name: 'My label' });
    same(at(key, 'name'), 'My label', 'name');
    same(at(await okJson(world.rootKey.get(`${manage}/${textAt(key, 'id')}`)), 'name'), 'My label', 'name');
    await refuses('name', 7, '')(world);
  }),
  row(SECTION, '`allowed_models` is an explicit list: the key calls these and no others', async (world) => {
    await world.suppliers();
    const { client } = await world.keyWith({ allowed_models: ['spec-embed', 'spec-chat'] });
    await ok(client.post(chat, { json: chatOf() }));
    await expectRejected(
      client.post(chat, { json: chatOf('Hello', { model: 'sim-small' }) }),
      403,
      'model_not_allowed',
      'model',
    );
  }),
  row(SECTION, '`allowed_models` is a list of strings', refuses('allowed_models', 'spec-chat', 7, {})),
  row(SECTION, '`allowed_models: ["auto"]` lets the key call `auto`', async (world) => {
    const { client } = await world.keyWith({ allowed_models: ['auto'] });
    await ok(client.post('/v1/messages', { json: chatOf('Hello', { model: 'auto' }) }));
  }),
  row(SECTION, '`allowed_regions` is a string that locks the key to its regions', async (world) => {
    await world.suppliers();
    const { client } = await world.keyWith({ allowed_regions: 'us' });
    same(headerOf(await ok(client.post(chat, { json: chatOf() })), 'x-svc-region'), 'us', 'region');
    const key = await createAndRead(world, { allowed_regions: 'us' });
    same(at(key, 'allowed_regions'), 'us', 'allowed_regions');
  }),
  row(SECTION, '`allowed_regions` is no number', refuses('allowed_regions', 7)),
  row(SECTION, '`budget_limit` is a number of US dollars', async (world) => {
    const { id } = await createKey(world, { budget_limit: 0.25 });
    same(
      at(await okJson(world.rootKey.get(`${manage}/${String(id)}`)), 'budget_limit'),
      0.25,
      'budget_limit',
    );
    await refuses('budget_limit', -1, 'much', true)(world);
  }),
  ...['daily', 'monthly', 'rolling'].map((period) =>
    row(SECTION, `\`budget_period\` may be \`${period}\``, async (world) => {
      const { id } = await createKey(world, { budget_limit: 1, budget_period: period });
      same(
        at(await okJson(world.rootKey.get(`${manage}/${String(id)}`)), 'budget_period'),
        period,
        'budget_period',
      );
    }),
  ),
  row(SECTION, '`budget_period` is none but those that are known', refuses('budget_period', 'yearly', 7)),
  row(SECTION, '`rate_limit_rpm` is a whole number of requests a minute', async (world) => {
    const { text } = await world.keyWith({ rate_limit_rpm: 7 });
    const answer = await world.as(text).post(chat, { json: chatOf('Hello', { model: 'sim-small' }) });
    same(headerOf(answer, 'x-ratelimit-limit-requests'), '7', 'limit');
    await refuses('rate_limit_rpm', 0, -1, 1.5, 'many')(world);
  }),
  row(SECTION, '`metadata` is an object of strings, kept as it is', async (world) => {
    const { id } = await createKey(world, { metadata: ALL_FIELDS.metadata });
    same(
      at(await okJson(world.rootKey.get(`${manage}/${String(id)}`)), 'metadata'),
      ALL_FIELDS.metadata,
      'metadata',
    );
    await refuses('metadata', 'team', ['team'])(world);
    await expectRejected(
      create(world, { ...ALL_FIELDS, metadata: { team: 7 } }),
      400,
      'invalid_request',
      'metadata.team',
    );
  }),
  row(SECTION, 'creating answers `id` (string)', async (world) => {
    expect(
      textAt(await createKey(world), 'id') !== textAt(await createKey(world), 'id'),
      'one id for two keys',
    );
  }),
  row(SECTION, 'creating answers `key` (string), the secret, which works', async (world) => {
    const key = textAt(await createKey(world), 'key');
    await ok(world.as(key).get('/v1/models'));
  }),
  row(SECTION, 'creating answers `name` (string)', async (world) => {
    same(at(await createKey(world), 'name'), 'made', 'name');
  }),
  row(SECTION, 'creating answers `created` (ISO 8601 timestamp), the present', async (world) => {
    const createdAt = Date.parse(String(field(await createKey(world), 'created', 'time')));
    expect(Math.abs(Date.now() - createdAt) < 60_000, `created ${createdAt}`);
  }),
];

const readRows: readonly SpecificationRow[] = [
  row(SECTION, 'reading answers `id` and `name`', async (world) => {
    const { id } = await world.keyWith({ name: 'known' });
    const key = await okJson(world.rootKey.get(`${manage}/${id}`));
    same([at(key, 'id'), at(key, 'name')], [id, 'known'], 'id and name');
  }),
  row(
    SECTION,
    'reading answers `budget_limit`, `budget_used` and `budget_remaining` as numbers that add up',
    async (world) => {
      await world.suppliers();
      const { id, client } = await world.keyWith({ budget_limit: 3 });
      const answer = await ok(client.post(chat, { json: chatOf() }));
      await recordOf(client, answer);
      const key = await okJson(world.rootKey.get(`${manage}/${id}`));
      const [limit, used, left] = ['limit', 'used', 'remaining'].map((name) =>
        numberAt(key, `budget_${name}`),
      );
      same(limit, 3, 'budget_limit');
      same(used, Number(headerOf(answer, 'x-svc-cost-usd')), 'budget_used');
      same(left?.toFixed(9), (3 - (used ?? 0)).toFixed(9), 'budget_remaining');
    },
  ),
  row(SECTION, 'reading answers `budget_period` (string)', async (world) => {
    same(
      at(await createAndRead(world, { budget_limit: 1, budget_period: 'daily' }), 'budget_period'),
      'daily',
      'budget_period',
    );
  }),
  ...(['daily', 'monthly'] as const).map((period) =>
    row(
      SECTION,
      `reading answers \`resets_at\` of a ${period} budget: the end of this ${period === 'daily' ? 'day' : 'month'}`,
      async (world) => {
        const now = new Date();
        const ends = {
          daily: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1),
          monthly: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1),
        };
        const key = await createAndRead(world, { budget_limit: 1, budget_period: period });
        same(Date.parse(String(field(key, 'resets_at', 'time'))), ends[period], 'resets_at');
      },
      { decided: openPoint('days and months of budgets are those of UTC') },
    ),
  ),
  row(
    SECTION,
    'reading answers `resets_at` of a rolling budget: when all that was spent has left, after 30 days',
    async (world) => {
      await world.suppliers();
      const { id, client } = await world.keyWith({ budget_limit: 1, budget_period: 'rolling' });
      const before = Date.now();
      await recordOf(client, await ok(client.post(chat, { json: chatOf() })));
      const key = await okJson(world.rootKey.get(`${manage}/${id}`));
      const windowStart = Date.parse(String(field(key, 'resets_at', 'time'))) - 30 * 24 * HOUR_MS;
      // The budget uses hourly buckets, and the bucket of the call expires as one.
      expect(
        windowStart > before - HOUR_MS && windowStart <= Date.now() + HOUR_MS,
        `30 days after ${new Date(windowStart).toISOString()}`,
      );
      same(windowStart % HOUR_MS, 0, 'minutes and seconds');
    },
    {
      decided: {
        adr: '0072-a-rolling-budget-resets-when-all-has-left.md',
        says: 'a rolling budget counts the last 30 days in hours and resets when all that was spent has left',
      },
    },
  ),
  row(SECTION, 'reading answers `status` (string), `active` for a new key', async (world) => {
    same(at(await createAndRead(world), 'status'), 'active', 'status');
  }),
  row(SECTION, 'reading never answers the secret', async (world) => {
    const { id, text } = await world.keyWith();
    const answer = await ok(world.rootKey.get(`${manage}/${id}`));
    same([answer.text.includes(text), at(jsonOf(answer), 'key')], [false, undefined], 'the secret');
  }),
  row(SECTION, '`budget_limit` can be changed alone: everything else stays', async (world) => {
    await world.suppliers();
    const { id } = await world.keyWith(ALL_FIELDS);
    const before = await okJson(world.rootKey.get(`${manage}/${id}`));
    const after = await okJson(world.rootKey.patch(`${manage}/${id}`, { json: { budget_limit: 20 } }));
    same(at(after, 'budget_limit'), 20, 'budget_limit');
    const repeat = await okJson(world.rootKey.get(`${manage}/${id}`));
    for (const name of Object.keys(before).filter(
      (one) => !/budget_(limit|remaining)|updated|effective/.test(one),
    ))
      same(repeat[name], before[name], name);
    const expectedFields = { budget_limit: 20, budget_remaining: 20 };
    same({ ...repeat, ...expectedFields }, repeat, 'the budget');
    same(repeat['effective'], { ...(before['effective'] as object), ...expectedFields }, 'what is in force');
  }),
  row(
    '3',
    '`resets_at` of a spent key gives the next reset of its period, and calls are refused with `budget_exceeded`',
    async (world) => {
      await world.suppliers();
      const { id, client } = await world.keyWith({ budget_limit: 0, budget_period: 'daily' });
      const answer = await expectRejected(client.post(chat, { json: chatOf() }), 402, 'budget_exceeded');
      const midnight = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
      const key = await okJson(world.rootKey.get(`${manage}/${id}`));
      same(Date.parse(textAt(key, 'resets_at')), Date.parse(`${midnight}T00:00:00Z`), 'resets_at');
      const reportedTime = /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(answer.text)?.[0] ?? '';
      same(Date.parse(reportedTime), Date.parse(`${midnight}T00:00:00Z`), 'resets_at of the refusal');
    },
  ),
];

const issueRows: readonly SpecificationRow[] = [
  row('1.5', 'keys are issued and inspected by programs', async (world) => {
    const { id, key } = await createKey(world, { name: 'issued' });
    same(at(await okJson(world.rootKey.get(`${manage}/${String(id)}`)), 'name'), 'issued', 'name');
    await ok(world.as(String(key)).get('/v1/key'));
  }),
  row(
    '4.1',
    'revoking a managed key is possible and immediate',
    async (world) => {
      const { id, client } = await world.keyWith();
      await ok(client.get('/v1/key'));
      await ok(world.rootKey.delete(`${manage}/${id}`));
      await expectRejected(client.get('/v1/key'), 401, 'invalid_api_key');
    },
    { decided: openPoint('managed keys are listed by GET /v1/manage/keys and revoked by DELETE') },
  ),
  row(
    '4.1',
    'managed keys are listed',
    async (world) => {
      const { id } = await world.keyWith();
      const list = listAt(await okJson(world.rootKey.get(`${manage}?limit=1`)), 'data');
      same(at(list[0], 'id'), id, 'the newest');
    },
    { decided: openPoint('managed keys are listed by GET /v1/manage/keys and revoked by DELETE') },
  ),
  ...[
    ['POST', manage],
    ['GET', `${manage}/{id}`],
    ['PATCH', `${manage}/{id}`],
  ].map(([method = '', path = '']) =>
    row(
      '4.1',
      `\`${method} ${path.replace('{id}', '{key_id}')}\` takes the root admin key alone`,
      async (world) => {
        const { id, client } = await world.keyWith();
        const address = path.replace('{id}', id);
        const request =
          method === 'GET' ? {} : { json: method === 'POST' ? { name: 'x' } : { budget_limit: 1 } };
        await expectRejected(client.send(method, address, request), 403, 'forbidden');
        await expectRejected(world.anonymous.send(method, address, request), 401, 'missing_api_key');
        const other: Client = world.rootKey;
        expectStatus(await other.send(method, address, request), 200);
      },
    ),
  ),
  row('4.1', '`PATCH /v1/manage/keys/{key_id}` answers the updated key', async (world) => {
    const { id } = await world.keyWith({ budget_limit: 1 });
    const key = await okJson(world.rootKey.patch(`${manage}/${id}`, { json: { budget_limit: 2 } }));
    same([at(key, 'id'), at(key, 'budget_limit'), at(key, 'status')], [id, 2, 'active'], 'key');
  }),
  row('4.1', 'management takes JSON: another content type is refused', async (world) => {
    const textRequest = { body: JSON.stringify({ name: 'text' }), headers: { 'content-type': 'text/plain' } };
    await expectRejected(world.rootKey.post(manage, textRequest), 415, 'unsupported_media_type');
    await expectRejected(
      world.rootKey.post(manage, { form: { name: 'form' } }),
      415,
      'unsupported_media_type',
    );
  }),
];

const authRows: readonly SpecificationRow[] = [
  row('5.1', 'tokens start with `svc_`', async (world) => {
    expect(textAt(await createKey(world), 'key').startsWith('svc_'), 'another prefix');
  }),
  row('5.1', 'the root admin key creates and revokes all other keys', async (world) => {
    const { id } = await createKey(world);
    await ok(world.rootKey.delete(`${manage}/${String(id)}`));
    same(at(await okJson(world.rootKey.get(`${manage}/${String(id)}`)), 'status'), 'revoked', 'status');
  }),
  row('5.1', 'a key is returned once: nothing that is read afterwards has the secret', async (world) => {
    const key = await createKey(world);
    const [id, secret] = [textAt(key, 'id'), textAt(key, 'key')];
    await ok(world.as(secret).get('/v1/models'));
    const reads = [
      world.rootKey.get(`${manage}?limit=5`),
      world.rootKey.get(`${manage}/${id}`),
      world.rootKey.get(`${manage}/${id}/audit`),
      world.rootKey.patch(`${manage}/${id}`, { json: { name: 'again' } }),
      world.as(secret).get('/v1/key'),
    ];
    for (const answer of await Promise.all(reads.map(ok)))
      same([answer.text.includes(secret), at(jsonOf(answer), 'key')], [false, undefined], 'the secret');
  }),
  row('5.1', 'calls beyond the limits of a key are refused with the codes of section 7', async (world) => {
    await world.suppliers();
    const outsideKey = await world.keyWith({ allowed_models: ['spec-embed'] });
    await expectRejected(outsideKey.client.post(chat, { json: chatOf() }), 403, 'model_not_allowed');
    const exhaustedKey = await world.keyWith({ budget_limit: 0 });
    await expectRejected(exhaustedKey.client.post(chat, { json: chatOf() }), 402, 'budget_exceeded');
    const limitedKey = await world.keyWith({ rate_limit_rpm: 1 });
    await ok(limitedKey.client.post(chat, { json: chatOf() }));
    await expectRejected(limitedKey.client.post(chat, { json: chatOf() }), 429, 'rate_limit_exceeded');
  }),
];

export const keyRows: readonly SpecificationRow[] = [
  ...createRows,
  ...readRows,
  ...auditRows,
  ...issueRows,
  ...authRows,
];
