import { Limits } from '#product/billing';
import { startSimulator, type Simulator } from '../../support/simulator';
import { startTestApp, type TestApp } from '../../support/app';
import { declareRegions } from '../../support/regions';
import { addUser } from '../../support/people';
import { type Answer, call, refusalOf } from './http';
import { until } from '../../support/until';

let supplier: Simulator;
let app: TestApp;
let root: string;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
  root = app.firstKeys?.root ?? '';
  await declareRegions(app.database, 'eu', 'us', 'us-east-1');
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

interface Issued {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly created: string;
}

const manage = <Body = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
  call<Body>(app, root, method, `/v1/manage/keys${path}`, body);

async function create(fields: object = {}): Promise<Issued> {
  const answer = await manage<Issued>('POST', '', { name: 'one', ...fields });
  expect(answer.status).toBe(200);
  return answer.body;
}

const read = async (id: string): Promise<Record<string, unknown>> => (await manage('GET', `/${id}`)).body;
const own = (key: string): Promise<Answer> => call(app, key, 'GET', '/v1/key');

test('a key is made with everything it may have, works at once, and reads back', async () => {
  const made = await create({
    name: 'Team one',
    allowed_models: ['sim-small', 'sim-large'],
    allowed_regions: 'EU, us-east-1',
    budget_limit: 12.5,
    budget_period: 'daily',
    rate_limit_rpm: 7,
    metadata: { team: 'one', 'cost-centre': '4711' },
    expires_at: '2999-01-01T00:00:00+02:00',
  });
  expect(Object.keys(made).sort()).toEqual(['created', 'id', 'key', 'name']);
  expect(made.key).toMatch(/^svc_[0-9A-Za-z]{57}$/);
  expect(new Date(made.created).toISOString()).toBe(made.created);
  expect(await read(made.id)).toMatchObject({
    id: made.id,
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
  expect(JSON.stringify(await read(made.id))).not.toContain(made.key);
  expect((await own(made.key)).body).toMatchObject({ id: made.id, rate_limit_rpm: 7, budget_limit: 12.5 });
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
])('a proxy that says "%s" puts %s on record', async (claimed, address) => {
  const answer = await fetch(`${app.url}/v1/manage/keys`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${root}`,
      'content-type': 'application/json',
      'x-forwarded-for': claimed,
    },
    body: JSON.stringify({ name: 'by a proxy' }),
  });
  expect(answer.status).toBe(200);
  const { id } = (await answer.json()) as Issued;
  expect(
    await app.database.query(
      `SELECT host(address) AS address FROM activity
        WHERE object_id = (SELECT id::text FROM api_key WHERE public_id = $1)`,
      [id],
    ),
  ).toEqual([{ address }]);
});

test('a key with a name alone belongs to the operator and has no limit but the usual rate', async () => {
  const made = await create();
  expect(await read(made.id)).toMatchObject({
    budget_limit: null,
    allowed_models: null,
    allowed_regions: null,
    rate_limit_rpm: null,
    user_id: 1,
    organisation_id: 1,
  });
  expect((await own(made.key)).body).toMatchObject({ rate_limit_rpm: 1_000_000 });
});

test('a key without a budget reads five nulls, with the effective values beside the set ones', async () => {
  const { id } = await create();
  const set = { budget_limit: null, budget_used: null, budget_remaining: null, budget_period: null };
  const nothing = { ...set, resets_at: null };
  expect(await read(id)).toMatchObject({
    ...nothing,
    rate_limit_rpm: null,
    effective: { ...nothing, rate_limit_rpm: 1_000_000, allowed_regions: null, unknown_fields: 'auto' },
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
    ...nothing,
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

test('regions come back in the form in which they were given', async () => {
  const list = await create({ allowed_regions: ['eu'] });
  const text = await create({ allowed_regions: 'eu' });
  expect((await read(list.id)).allowed_regions).toEqual(['eu']);
  expect((await read(text.id)).allowed_regions).toBe('eu');
  await manage('PATCH', `/${list.id}`, { allowed_regions: 'eu,us' });
  expect((await read(list.id)).allowed_regions).toBe('eu,us');
  await manage('PATCH', `/${list.id}`, { allowed_regions: null });
  expect((await read(list.id)).allowed_regions).toBeNull();
});

test('an alias in the list of models stands for the model it names', async () => {
  await app.database.query(
    "INSERT INTO model_alias (name, model_id) SELECT 'quick', id FROM model WHERE name = 'sim-small'",
  );
  let made: Issued | undefined;
  await until(async () => {
    const answer = await manage<Issued>('POST', '', {
      name: 'alias',
      allowed_models: ['quick', 'sim-small'],
    });
    if (answer.status === 200) made = answer.body;
    return made !== undefined;
  });
  expect((await read(made?.id ?? '')).allowed_models).toEqual(['sim-small']);
});

test('a key is somebody’s: a user’s, a project’s, a department’s or an organisation’s', async () => {
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
    const made = await create(owner);
    expect(await read(made.id)).toMatchObject(owner);
    expect((await own(made.key)).status).toBe(200);
  }
  for (const name of ['user_id', 'organisation_id', 'department_id', 'project_id']) {
    for (const id of [999_999, 0, 'x', 2 ** 40]) {
      expect(refusalOf(await manage('POST', '', { name: 'x', [name]: id }))).toEqual([
        400,
        'invalid_request',
        name,
      ]);
    }
  }
  expect(
    refusalOf(await manage('POST', '', { name: 'x', organisation_id: 1, project_id: project?.id })),
  ).toEqual([400, 'invalid_request', 'project_id']);
});

test('a change of one thing leaves everything else as it was', async () => {
  const { id } = await create({
    allowed_models: ['sim-small'],
    allowed_regions: 'eu',
    budget_limit: 3,
    budget_period: 'rolling',
    rate_limit_rpm: 9,
    metadata: { a: 'b' },
    expires_at: '2999-01-01',
  });
  const steps: [change: object, seen: object][] = [
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
  let expected: Record<string, unknown> = { ...(await read(id)), effective: expect.any(Object) };
  expect(expected.budget_period).toBe('rolling');
  for (const [change, seen] of steps) {
    expected = { ...expected, ...seen };
    const answer = await manage('PATCH', `/${id}`, change);
    expect([answer.status, answer.body]).toEqual([200, expected]);
    expect(await read(id)).toEqual(expected);
  }
  expect(refusalOf(await manage('PATCH', `/${id}`, { budget_period: 'daily' }))).toEqual([
    400,
    'invalid_request',
    'budget_limit',
  ]);
});

test('two changes at the same moment both count', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { id } = await create({ budget_limit: 1, budget_period: 'daily' });
    await Promise.all([
      manage('PATCH', `/${id}`, { budget_limit: 2 }),
      manage('PATCH', `/${id}`, { budget_period: 'rolling' }),
      manage('PATCH', `/${id}`, { name: 'three' }),
    ]);
    expect(await read(id)).toMatchObject({ budget_limit: 2, budget_period: 'rolling', name: 'three' });
  }
});

test('a revoked key is refused from then on, stays on record, and is revoked as often as one likes', async () => {
  const { id, key } = await create();
  expect((await own(key)).status).toBe(200);
  const first = await manage('DELETE', `/${id}`);
  expect(first.body).toMatchObject({ id, status: 'revoked' });
  expect(refusalOf(await own(key))).toEqual([401, 'invalid_api_key', null]);
  const second = await manage('DELETE', `/${id}`);
  expect([second.status, second.body]).toEqual([200, first.body]);
  expect(refusalOf(await manage('PATCH', `/${id}`, { status: 'active' }))).toEqual([409, 'conflict', null]);
  expect(refusalOf(await manage('POST', `/${id}/rotate`))).toEqual([409, 'conflict', null]);
});

test('a rotated key: the old secret ends at once, or with its grace', async () => {
  const { id, key } = await create();
  expect((await own(key)).status).toBe(200);
  const second = await manage<Issued>('POST', `/${id}/rotate`);
  expect(second.body).toMatchObject({ id, name: 'one', previous_valid_until: null });
  expect(refusalOf(await own(key))[1]).toBe('invalid_api_key');
  expect((await own(second.body.key)).body.id).toBe(id);
  const third = await manage<Issued>('POST', `/${id}/rotate`, { grace_seconds: 4 });
  expect((await own(second.body.key)).status).toBe(200);
  expect((await own(third.body.key)).status).toBe(200);
  expect(refusalOf(await own(key))[1]).toBe('invalid_api_key');
  const graceEnds = new Date((await read(id)).previous_valid_until as string).getTime();
  expect(graceEnds - Date.now()).toBeLessThanOrEqual(4_000);
  await until(async () => (await own(second.body.key)).status !== 200);
  expect(Date.now()).toBeGreaterThan(graceEnds - 1_000);
  expect(refusalOf(await own(second.body.key))[1]).toBe('invalid_api_key');
  expect((await own(third.body.key)).status).toBe(200);
  for (const grace of [-1, 1.5, 'long', 1e9]) {
    expect(refusalOf(await manage('POST', `/${id}/rotate`, { grace_seconds: grace }))).toEqual([
      400,
      'invalid_request',
      'grace_seconds',
    ]);
  }
});

test('expired is shown, but not stored: a later end brings the key back', async () => {
  const { id, key } = await create({ expires_at: new Date(Date.now() + 2_000).toISOString() });
  // The clock of the database decides, and that of the node follows it.
  await until(async () => (await own(key)).status !== 200);
  await until(async () => (await read(id)).status === 'expired');
  expect(refusalOf(await own(key))).toEqual([401, 'expired_api_key', null]);
  await manage('PATCH', `/${id}`, { expires_at: '2999-01-01' });
  expect((await read(id)).status).toBe('active');
  expect((await own(key)).status).toBe(200);
});

test('the list: the newest first, page by page, by name and status', async () => {
  const made: string[] = [];
  for (let count = 0; count < 5; count += 1) made.unshift((await create({ name: `Listed ${count}%` })).id);
  const pages: string[] = [];
  let cursor = '';
  for (;;) {
    const { body } = await manage<{
      data: { id: string }[];
      has_more: boolean;
      next_cursor: string | null;
      object: string;
    }>('GET', `?limit=2&name=listed${cursor}`);
    expect(body.object).toBe('list');
    pages.push(...body.data.map(({ id }) => id));
    if (!body.has_more) break;
    cursor = `&cursor=${body.next_cursor}`;
    // A key made meanwhile does not move the pages.
    if (pages.length === 2) await create({ name: 'Listed late' });
  }
  expect(pages).toEqual(made);
  await manage('DELETE', `/${made[0]}`);
  await manage('PATCH', `/${made[1]}`, { status: 'disabled' });
  const ids = async (query: string) =>
    (await manage<{ data: { id: string }[] }>('GET', `?${query}`)).body.data.map(({ id }) => id);
  expect(await ids('name=listed%200%25&status=active')).toEqual([made[4]]);
  expect(await ids('name=listed&status=revoked')).toEqual([made[0]]);
  expect(await ids('name=listed&status=disabled')).toEqual([made[1]]);
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
    expect(refusalOf(await manage('GET', `?${query}`))).toEqual([400, 'invalid_request', param]);
  }
});

test('the root key is not among the keys it manages, and nobody else manages any', async () => {
  const rootId = root.slice(4, 12);
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
    expect(refusalOf(await manage(method, path, body))).toEqual([404, 'not_found', 'key_id']);
  }
  const { id, key } = await create();
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
    expect(refusalOf(answer)).toEqual([403, 'forbidden', null]);
  }
  expect(refusalOf(await call(app, root, 'GET', '/v1/key'))).toEqual([403, 'forbidden', null]);
  expect((await read(id)).status).toBe('active');
});
