import { Limits } from '#product/billing';
import { startSimulator, type Simulator } from '../../support/simulator';
import { startTestApp, type TestApp } from '../../support/app';
import { declareRegions } from '../../support/regions';
import { addUser } from '../../support/users';
import { type ApiResponse, call, apiErrorOf } from './http';
import { until } from '../../support/until';

let supplier: Simulator;
let app: TestApp;
let rootKey: string;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
  rootKey = app.firstKeys?.root ?? '';
  await declareRegions(app.database, 'eu', 'us', 'us-east-1');
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

interface CreatedKey {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly created: string;
}

const manage = <Body = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
  call<Body>(app, rootKey, method, `/v1/manage/keys${path}`, body);

async function createKey(fields: object = {}): Promise<CreatedKey> {
  const answer = await manage<CreatedKey>('POST', '', { name: 'one', ...fields });
  expect(answer.status).toBe(200);
  return answer.body;
}

const readKey = async (id: string): Promise<Record<string, unknown>> => (await manage('GET', `/${id}`)).body;
const getOwnKey = (key: string): Promise<ApiResponse> => call(app, key, 'GET', '/v1/key');
const invalidRequest = (param: string | undefined) => [400, 'invalid_request', param];

test('a key with every field works immediately and returns the same values', async () => {
  const createdKey = await createKey({
    name: 'Team one',
    allowed_models: ['sim-small', 'sim-large'],
    allowed_regions: 'EU, us-east-1',
    budget_limit: 12.5,
    budget_period: 'daily',
    rate_limit_rpm: 7,
    metadata: { team: 'one', 'cost-centre': '4711' },
    expires_at: '2999-01-01T00:00:00+02:00',
  });
  expect(Object.keys(createdKey).sort()).toEqual(['created', 'id', 'key', 'name']);
  expect(createdKey.key).toMatch(/^svc_[0-9A-Za-z]{57}$/);
  expect(new Date(createdKey.created).toISOString()).toBe(createdKey.created);
  expect(await readKey(createdKey.id)).toMatchObject({
    id: createdKey.id,
    name: 'Team one',
    status: 'active',
    budget_limit: 12.5,
    budget_used: 0,
    budget_remaining: 12.5,
    budget_period: 'daily',
    resets_at: expect.stringMatching(/T00:00:00.000Z$/) as string,
    allowed_models: ['sim-small', 'sim-large'],
    allowed_regions: 'eu,us-east-1',
    rate_limit_rpm: 7,
    metadata: { team: 'one', 'cost-centre': '4711' },
    expires_at: '2998-12-31T22:00:00.000Z',
  });
  expect(JSON.stringify(await readKey(createdKey.id))).not.toContain(createdKey.key);
  expect((await getOwnKey(createdKey.key)).body).toMatchObject({
    id: createdKey.id,
    rate_limit_rpm: 7,
    budget_limit: 12.5,
  });
});

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['198.51.100.1, 203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:51234', '203.0.113.7'],
  ['[2001:db8::7]:51234', '2001:db8::7'],
  ['fe80::1%eth0', 'fe80::1'],
  ['127.0.0.1, , nonsense', '127.0.0.1'],
  ['unknown', '127.0.0.1'],
  ['203.0.113.7, 999.1.1.1', '127.0.0.1'],
  ['203.0.113.7, 127.0.0.1', '203.0.113.7'],
])('a proxy header of "%s" records the address %s', async (claimed, address) => {
  const answer = await fetch(`${app.url}/v1/manage/keys`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${rootKey}`,
      'content-type': 'application/json',
      'x-forwarded-for': claimed,
    },
    body: JSON.stringify({ name: 'by a proxy' }),
  });
  expect(answer.status).toBe(200);
  const { id } = (await answer.json()) as CreatedKey;
  expect(
    await app.database.query(
      `SELECT host(address) AS address FROM activity
        WHERE object_id = (SELECT id::text FROM api_key WHERE public_id = $1)`,
      [id],
    ),
  ).toEqual([{ address }]);
});

test('a key created with only a name belongs to the operator and has the default rate limit', async () => {
  const createdKey = await createKey();
  expect(await readKey(createdKey.id)).toMatchObject({
    budget_limit: null,
    allowed_models: null,
    allowed_regions: null,
    rate_limit_rpm: null,
    user_id: 1,
    organisation_id: 1,
  });
  expect((await getOwnKey(createdKey.key)).body).toMatchObject({ rate_limit_rpm: 1_000_000 });
});

test('a key without a budget returns five nulls, and effective values next to the stored ones', async () => {
  const { id } = await createKey();
  const budgetFields = { budget_limit: null, budget_used: null, budget_remaining: null, budget_period: null };
  const emptyBudget = { ...budgetFields, resets_at: null };
  expect(await readKey(id)).toMatchObject({
    ...emptyBudget,
    rate_limit_rpm: null,
    effective: { ...emptyBudget, rate_limit_rpm: 1_000_000, allowed_regions: null, unknown_fields: 'auto' },
  });
  await app.database.query("UPDATE organisation SET allowed_regions = '{eu,us}' WHERE id = 1");
  await app.database.transaction((tx) =>
    app.application
      .get(Limits, { strict: false })
      .set(tx, { kind: 'organisation', id: 1 }, { period: 'monthly', limit: 80_000_000_000n }),
  );
  const limits = { rate_limit_rpm: 60, allowed_regions: 'us,us-east-1', unknown_fields: 'drop' };
  const { body } = await manage('PATCH', `/${id}`, limits);
  expect(body).toMatchObject({
    ...emptyBudget,
    effective: {
      rate_limit_rpm: 60,
      allowed_regions: ['us'],
      unknown_fields: 'drop',
      budget_limit: 80,
      budget_used: 0,
      budget_remaining: 80,
      budget_period: 'monthly',
      resets_at: expect.stringMatching(/-01T00:00:00\.000Z$/),
    },
  });
  await app.database.query('UPDATE organisation SET allowed_regions = NULL WHERE id = 1');
  await app.database.transaction((tx) =>
    app.application.get(Limits, { strict: false }).remove(tx, { kind: 'organisation', id: 1 }),
  );
});

test('regions are returned in the form in which they were given', async () => {
  const list = await createKey({ allowed_regions: ['eu'] });
  const text = await createKey({ allowed_regions: 'eu' });
  expect((await readKey(list.id)).allowed_regions).toEqual(['eu']);
  expect((await readKey(text.id)).allowed_regions).toBe('eu');
  await manage('PATCH', `/${list.id}`, { allowed_regions: 'eu,us' });
  expect((await readKey(list.id)).allowed_regions).toBe('eu,us');
  await manage('PATCH', `/${list.id}`, { allowed_regions: null });
  expect((await readKey(list.id)).allowed_regions).toBeNull();
});

test('an alias in allowed_models is stored as the model it names', async () => {
  await app.database.query(
    "INSERT INTO model_alias (name, model_id) SELECT 'quick', id FROM model WHERE name = 'sim-small'",
  );
  let createdKey: CreatedKey | undefined;
  await until(async () => {
    const answer = await manage<CreatedKey>('POST', '', {
      name: 'alias',
      allowed_models: ['quick', 'sim-small'],
    });
    if (answer.status === 200) createdKey = answer.body;
    return createdKey !== undefined;
  });
  expect((await readKey(createdKey?.id ?? '')).allowed_models).toEqual(['sim-small']);
});

test('a key can belong to a user, a project, a department or an organisation', async () => {
  const user = await addUser(app);
  const [department] = await app.database.query<{ id: number }>(
    "INSERT INTO department (organisation_id, name) VALUES (1, 'one') RETURNING id",
  );
  const [project] = await app.database.query<{ id: number }>(
    "INSERT INTO project (organisation_id, name, created_by) VALUES (1, 'one', $1) RETURNING id",
    [user],
  );
  for (const owner of [
    { user_id: user },
    { organisation_id: 1 },
    { department_id: department?.id },
    { project_id: project?.id },
    { user_id: user, project_id: project?.id },
  ]) {
    const createdKey = await createKey(owner);
    expect(await readKey(createdKey.id)).toMatchObject(owner);
    expect((await getOwnKey(createdKey.key)).status).toBe(200);
  }
  for (const name of ['user_id', 'organisation_id', 'department_id', 'project_id']) {
    for (const id of [999_999, 0, 'x', 2 ** 40]) {
      expect(apiErrorOf(await manage('POST', '', { name: 'x', [name]: id }))).toEqual(invalidRequest(name));
    }
  }
  expect(
    apiErrorOf(await manage('POST', '', { name: 'x', organisation_id: 1, project_id: project?.id })),
  ).toEqual(invalidRequest('project_id'));
});

test('changing one field leaves the others unchanged', async () => {
  const { id } = await createKey({
    allowed_models: ['sim-small'],
    allowed_regions: 'eu',
    budget_limit: 3,
    budget_period: 'rolling',
    rate_limit_rpm: 9,
    metadata: { a: 'b' },
    expires_at: '2999-01-01',
  });
  const changeSteps: [change: object, seen: object][] = [
    [{ budget_limit: 5 }, { budget_limit: 5, budget_remaining: 5 }],
    [{ name: 'two' }, { name: 'two' }],
    [{ allowed_models: null }, { allowed_models: null }],
    [{ allowed_regions: ['us'] }, { allowed_regions: ['us'] }],
    [{ rate_limit_rpm: null }, { rate_limit_rpm: null }],
    [{ metadata: { c: 'd' } }, { metadata: { c: 'd' } }],
    [{ metadata: null }, { metadata: {} }],
    [{ expires_at: null }, { expires_at: null }],
    [{ status: 'disabled' }, { status: 'disabled' }],
    [{ status: 'active' }, { status: 'active' }],
    [{ budget_period: 'monthly' }, { budget_period: 'monthly', resets_at: expect.any(String) as string }],
    [
      { budget_limit: null },
      {
        budget_limit: null,
        budget_used: null,
        budget_remaining: null,
        budget_period: null,
        resets_at: null,
      },
    ],
  ];
  let expected: Record<string, unknown> = { ...(await readKey(id)), effective: expect.any(Object) };
  expect(expected.budget_period).toBe('rolling');
  for (const [change, seen] of changeSteps) {
    expected = { ...expected, ...seen };
    const answer = await manage('PATCH', `/${id}`, change);
    expect([answer.status, answer.body]).toEqual([200, expected]);
    expect(await readKey(id)).toEqual(expected);
  }
  expect(apiErrorOf(await manage('PATCH', `/${id}`, { budget_period: 'daily' }))).toEqual(
    invalidRequest('budget_limit'),
  );
});

test('two concurrent changes are both applied', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { id } = await createKey({ budget_limit: 1, budget_period: 'daily' });
    await Promise.all([
      manage('PATCH', `/${id}`, { budget_limit: 2 }),
      manage('PATCH', `/${id}`, { budget_period: 'rolling' }),
      manage('PATCH', `/${id}`, { name: 'three' }),
    ]);
    expect(await readKey(id)).toMatchObject({ budget_limit: 2, budget_period: 'rolling', name: 'three' });
  }
});

test('a revoked key is refused, stays in the list, and can be revoked again', async () => {
  const { id, key } = await createKey();
  expect((await getOwnKey(key)).status).toBe(200);
  const firstRevocation = await manage('DELETE', `/${id}`);
  expect(firstRevocation.body).toMatchObject({ id, status: 'revoked' });
  expect(apiErrorOf(await getOwnKey(key))).toEqual([401, 'invalid_api_key', null]);
  const secondRevocation = await manage('DELETE', `/${id}`);
  expect([secondRevocation.status, secondRevocation.body]).toEqual([200, firstRevocation.body]);
  expect(apiErrorOf(await manage('PATCH', `/${id}`, { status: 'active' }))).toEqual([409, 'conflict', null]);
  expect(apiErrorOf(await manage('POST', `/${id}/rotate`))).toEqual([409, 'conflict', null]);
});

test('rotation invalidates the former secret immediately or after the grace period', async () => {
  const { id, key } = await createKey();
  expect((await getOwnKey(key)).status).toBe(200);
  const secondKey = await manage<CreatedKey>('POST', `/${id}/rotate`);
  expect(secondKey.body).toMatchObject({ id, name: 'one', previous_valid_until: null });
  expect(apiErrorOf(await getOwnKey(key))[1]).toBe('invalid_api_key');
  expect((await getOwnKey(secondKey.body.key)).body.id).toBe(id);
  const thirdKey = await manage<CreatedKey>('POST', `/${id}/rotate`, { grace_seconds: 4 });
  expect((await getOwnKey(secondKey.body.key)).status).toBe(200);
  expect((await getOwnKey(thirdKey.body.key)).status).toBe(200);
  expect(apiErrorOf(await getOwnKey(key))[1]).toBe('invalid_api_key');
  const graceEnds = new Date((await readKey(id)).previous_valid_until as string).getTime();
  expect(graceEnds - Date.now()).toBeLessThanOrEqual(4_000);
  await until(async () => (await getOwnKey(secondKey.body.key)).status !== 200);
  expect(Date.now()).toBeGreaterThan(graceEnds - 1_000);
  expect(apiErrorOf(await getOwnKey(secondKey.body.key))[1]).toBe('invalid_api_key');
  expect((await getOwnKey(thirdKey.body.key)).status).toBe(200);
  for (const grace of [-1, 1.5, 'long', 1e9]) {
    expect(apiErrorOf(await manage('POST', `/${id}/rotate`, { grace_seconds: grace }))).toEqual(
      invalidRequest('grace_seconds'),
    );
  }
});

test('an expired status is computed, so a later expiry date reactivates the key', async () => {
  const { id, key } = await createKey({ expires_at: new Date(Date.now() + 2_000).toISOString() });
  // Expiry follows the database clock, which the node approximates.
  await until(async () => (await getOwnKey(key)).status !== 200);
  await until(async () => (await readKey(id)).status === 'expired');
  expect(apiErrorOf(await getOwnKey(key))).toEqual([401, 'expired_api_key', null]);
  await manage('PATCH', `/${id}`, { expires_at: '2999-01-01' });
  expect((await readKey(id)).status).toBe('active');
  expect((await getOwnKey(key)).status).toBe(200);
});

test('the list is paged newest first and can be filtered by name and status', async () => {
  const createdIds: string[] = [];
  for (let count = 0; count < 5; count += 1)
    createdIds.unshift((await createKey({ name: `Listed ${count}%` })).id);
  const pagedNames: string[] = [];
  let cursor = '';
  for (;;) {
    const { body } = await manage<{
      data: { id: string }[];
      has_more: boolean;
      next_cursor: string | null;
      object: string;
    }>('GET', `?limit=2&name=listed${cursor}`);
    expect(body.object).toBe('list');
    pagedNames.push(...body.data.map(({ id }) => id));
    if (!body.has_more) break;
    cursor = `&cursor=${body.next_cursor}`;
    // A key created meanwhile does not shift the pages.
    if (pagedNames.length === 2) await createKey({ name: 'Listed late' });
  }
  expect(pagedNames).toEqual(createdIds);
  await manage('DELETE', `/${createdIds[0]}`);
  await manage('PATCH', `/${createdIds[1]}`, { status: 'disabled' });
  const ids = async (query: string) =>
    (await manage<{ data: { id: string }[] }>('GET', `?${query}`)).body.data.map(({ id }) => id);
  expect(await ids('name=listed%200%25&status=active')).toEqual([createdIds[4]]);
  expect(await ids('name=listed&status=revoked')).toEqual([createdIds[0]]);
  expect(await ids('name=listed&status=disabled')).toEqual([createdIds[1]]);
  expect(await ids('name=listed&status=expired')).toEqual([]);
  expect(await ids('name=listed_0')).toEqual([]);
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['status=gone', 'status'],
    ['cursor=nobody', 'cursor'],
    ["cursor=' OR 1=1", 'cursor'],
  ]) {
    expect(apiErrorOf(await manage('GET', `?${query}`))).toEqual(invalidRequest(param));
  }
});

test('the root key is not listed, and only the root key can manage keys', async () => {
  const rootId = rootKey.slice(4, 12);
  for (const [method, path] of [
    ['GET', `/${rootId}`],
    ['PATCH', `/${rootId}`],
    ['DELETE', `/${rootId}`],
    ['POST', `/${rootId}/rotate`],
    ['GET', `/${rootId}/audit`],
    ['GET', '/nobody'],
    ['DELETE', '/nobody'],
    ['GET', `/${encodeURIComponent("' OR 1=1")}`],
  ] as const) {
    const body = method === 'PATCH' ? { name: 'x' } : undefined;
    expect(apiErrorOf(await manage(method, path, body))).toEqual([404, 'not_found', 'key_id']);
  }
  const { id, key } = await createKey();
  for (const [method, path] of [
    ['POST', ''],
    ['GET', ''],
    ['GET', `/${id}`],
    ['PATCH', `/${id}`],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/rotate`],
    ['GET', `/${id}/audit`],
  ] as const) {
    const answer = await call(app, key, method, `/v1/manage/keys${path}`, method === 'GET' ? undefined : {});
    expect(apiErrorOf(answer)).toEqual([403, 'forbidden', null]);
  }
  expect(apiErrorOf(await call(app, rootKey, 'GET', '/v1/key'))).toEqual([403, 'forbidden', null]);
  expect((await readKey(id)).status).toBe('active');
});
