import { type RecordAttributes, insertRequestRecords, serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';
import { addUser, signIn } from '../../support/users';
import { sendJson } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;
let ada: Customer;
let cookie: string;

const noOwners = { organisationId: null, departmentId: null, projectId: null, walletId: null };
/** Writes records without ledger entries; only sums of records are tested. */
const addRecords = (records: readonly [at: string, facts: Partial<RecordAttributes>][]) =>
  app.database.transaction(async (tx) => {
    const writtenRecords = records.map(([at, facts]) =>
      serialiseRecord(uuidv7(), Date.parse(at), {
        ...ordinaryOutcome({ ...noOwners, keyId: ada.keyId, userId: ada.userId, costNano: 0n }),
        ...(facts.model === undefined ? {} : { servedModel: facts.model }),
        ...facts,
      }),
    );
    await insertRequestRecords(tx, writtenRecords);
  });
const getPage = (path: string, sessionCookie = cookie) =>
  sendRaw(app.url, { path, headers: { cookie: sessionCookie, accept: 'text/html' } });
const data = async (path: string, as = cookie) => JSON.parse((await getPage(path, as)).body) as UsagePageData;

interface UsagePageSums {
  readonly requests: number;
  readonly cost_nano: string;
  readonly input_tokens: number;
  readonly group?: string | null;
  readonly group_kind?: string;
}
interface UsagePageData {
  readonly total: UsagePageSums;
  readonly groups: readonly UsagePageSums[];
  readonly data: readonly (UsagePageSums & {
    readonly start: string;
    readonly groups?: readonly UsagePageSums[];
  })[];
}

beforeAll(async () => {
  app = await startTestApp();
  ada = await addCustomer(app, 'ada');
  cookie = await signIn(app, ada.userId);
  await app.database.query("SELECT ensure_request_record_partitions('2026-10-01', 2)");
});
afterAll(() => app.close());

const hour = { bucket: 'hour', from: '2026-10-24T20:00:00Z', to: '2026-10-26T00:00:00Z' };
const query = (asked: Record<string, string>) => new URLSearchParams(asked).toString();

test('the page distinguishes no usage from a filter without matches', async () => {
  expect((await getPage('/dashboard/usage')).body).toContain('Nothing was used in this period');
  expect((await getPage('/dashboard/usage?model=none')).body).toContain('Nothing matches these filters');
});

test('page, file, page data and key API report the same sums for the same period', async () => {
  await addRecords([
    // 25 October has 25 hours in Berlin, from 22:00 to 23:00 UTC.
    ['2026-10-24T21:59:59.999Z', { model: 'small', inputTokens: 1 }],
    ['2026-10-24T22:00:00Z', { model: 'small', inputTokens: 10, endUser: 'grace', tags: ['a', 'b'] }],
    ['2026-10-25T22:59:59.999Z', { model: 'large', inputTokens: 100, tags: ['a'] }],
    ['2026-10-25T23:00:00Z', { model: 'large', inputTokens: 1000 }],
  ]);
  const day = {
    from: '2026-10-25',
    to: '2026-10-25',
    zone: 'Europe/Berlin',
    bucket: 'day',
    group_by: 'model',
  };
  const pageData = await data(`/dashboard/api/usage?${query(day)}`);
  expect(pageData.total).toMatchObject({ requests: 2, input_tokens: 110 });
  expect(pageData.data.map(({ start, requests }) => [start, requests])).toEqual([
    ['2026-10-24T22:00:00.000Z', 2],
  ]);
  expect(pageData.groups.map(({ group, input_tokens }) => [group, input_tokens]).sort()).toEqual([
    ['large', 100],
    ['small', 10],
  ]);
  const { group_by: _, ...plain } = day;
  const keyResponse = await fetch(`${app.url}/v1/usage?${query(plain)}`, {
    headers: { authorization: `Bearer ${ada.key}`, 'content-type': 'application/json' },
  });
  expect([keyResponse.status, ((await keyResponse.json()) as UsagePageData).total]).toEqual([
    200,
    pageData.total,
  ]);
  const file = await getPage(`/dashboard/usage/export?${query(day)}`);
  const lines = file.body.trimEnd().split('\r\n');
  expect(lines).toHaveLength(3);
  const columnIndex = lines[0]?.split(',').indexOf('input_tokens') ?? -1;
  expect(lines.slice(1).reduce((sum, line) => sum + Number(line.split(',')[columnIndex]), 0)).toBe(110);
  const page = (await getPage(`/dashboard/usage?${query(day)}`)).body;
  expect(page).toContain('p95 latency, about');
  expect(lines[0]).toContain('mean_latency_ms,p95_latency_ms');
  expect((await getPage(`/dashboard/usage?${query({ ...day, measure: 'p95' })}`)).status).toBe(200);
  expect((await getPage(`/dashboard/usage?${query({ ...day, measure: 'errors' })}`)).status).toBe(200);
  expect(page).toMatch(/<tfoot>[^]*?<td class="align-end">\s*2\s*<\/td>/);
  expect(page).toContain('Europe/Berlin');
});

test('usage is grouped by labels, with a group for requests without a label', async () => {
  const users = await data(`/dashboard/api/usage?${query({ ...hour, group_by: 'end_user' })}`);
  expect(users.groups.map(({ group, group_kind, requests }) => [group, group_kind, requests])).toEqual([
    ['grace', 'named', 1],
    [null, 'none', 3],
  ]);
  const tags = await data(`/dashboard/api/usage?${query({ ...hour, group_by: 'tag' })}`);
  expect(tags.groups.map(({ group, requests }) => [group, requests]).sort()).toEqual([
    ['a', 2],
    ['b', 1],
  ]);
  expect(tags.total.requests).toBe(4);
  const page = (await getPage(`/dashboard/usage?${query({ ...hour, group_by: 'tag' })}`)).body;
  expect(page).toContain('A request with several tags');
  expect(page).toContain('tag&#x3D;a');
});

test('usage of other accounts is hidden, and administrators see their organisation', async () => {
  const stranger = await signIn(app, await addUser(app));
  expect((await data(`/dashboard/api/usage?${query(hour)}`, stranger)).total.requests).toBe(0);
  const path = `/dashboard/admin/api/usage?${query({ ...hour, user_id: String(ada.userId) })}`;
  expect((await getPage(path)).status).toBe(403);
  const organisations = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('Other', 'other') RETURNING id",
  );
  const otherAdmin = await addUser(app, 'org_admin');
  await app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
    otherAdmin,
    organisations[0]?.id,
  ]);
  expect((await getPage(path, await signIn(app, otherAdmin))).status).toBe(404);
  const owner = await signIn(app, await addUser(app, 'platform_owner'));
  expect((await data(path, owner)).total.requests).toBe(4);
  expect((await getPage('/dashboard/admin/api/usage', owner)).status).toBe(422);
});

test.each([
  'group_by=colour',
  'bucket=week',
  'from=yesterday',
  'zone=Mars/Base',
  'key=x',
  'org_id=1',
  'days=0',
])('an invalid query returns 422: %s', async (wrong) => {
  expect((await getPage(`/dashboard/api/usage?${wrong}`)).status).toBe(422);
  expect((await getPage(`/dashboard/usage?${wrong}`)).status).toBe(wrong === 'org_id=1' ? 200 : 422);
});

test('the usage API reports an invalid query to a key', async () => {
  for (const invalidQuery of [
    'group_by=colour',
    'from=2026-13-01',
    'key=3',
    'from=2026-02-01&to=2026-01-01',
  ]) {
    const answer = await fetch(`${app.url}/v1/usage?${invalidQuery}`, { headers: { 'x-api-key': ada.key } });
    expect([invalidQuery, answer.status]).toEqual([invalidQuery, 400]);
  }
  expect((await fetch(`${app.url}/v1/usage`)).status).toBe(401);
});

test.each([
  ['de', 'zone=Mond', 'Geben Sie den Namen einer Zeitzone an'],
  ['de', 'organisation=none', '„organisation“ in der Adresse'],
  ['fr', 'from=2026-10-20&to=2026-10-10', 'elle doit suivre le début'],
  ['it', 'bucket=year', '«bucket» nell’indirizzo'],
  ['es', 'days=many', '«days» en la dirección tiene un valor no permitido'],
  ['en', 'group_by=colour', '“group_by” in the address has a value that is not accepted'],
])('an invalid query is explained in %s: %s', async (language, invalidQuery, words) => {
  const reader = await addUser(app);
  await app.database.query('UPDATE user_account SET preferred_language = $2 WHERE id = $1', [
    reader,
    language,
  ]);
  const readerCookie = await signIn(app, reader);
  const answer = await getPage(`/dashboard/usage?${invalidQuery}`, readerCookie);
  expect(answer.status).toBe(422);
  expect(/role="alert">[^]*?<p>([^<]*)/.exec(answer.body)?.[1]).toContain(words);
  const apiResponse = await sendRaw(app.url, {
    path: `/dashboard/api/usage?${invalidQuery}`,
    headers: { cookie: readerCookie, accept: 'application/json' },
  });
  expect([400, 422]).toContain(apiResponse.status);
  expect(apiResponse.body).not.toContain(words);
});

test.each([
  ['de', 'kam nicht von einer Seite dieses Portals'],
  ['fr', 'ne vient pas d’une page de ce portail'],
  ['it', 'non proviene da una pagina di questo portale'],
  ['es', 'no procede de una página de este portal'],
  ['en', 'did not come from a page of this portal'],
])('a cross-site error is explained in %s on the page and in English in JSON', async (language, words) => {
  const send = (accept: string): Promise<Response> =>
    fetch(`${app.url}/auth/login`, {
      method: 'POST',
      headers: { accept, 'accept-language': language, 'sec-fetch-site': 'cross-site' },
      body: new URLSearchParams({ email: 'a@example.com', password: 'b' }),
    });
  const page = await send('text/html');
  expect(page.status).toBe(403);
  expect(/<h1>([^<]*)/.exec(await page.text())?.[1]).toContain(words);
  expect(await (await send('application/json')).text()).toContain('did not come from a page of this portal');
});

test('usage can be limited to one organisation, in sums and single requests', async () => {
  const at = '2026-10-28T10:00:00Z';
  await addRecords([
    [at, { organisationId: 51, inputTokens: 3 }],
    [at, { organisationId: 52, inputTokens: 5 }],
  ]);
  const day = { from: '2026-10-28', to: '2026-10-28', zone: 'UTC' };
  const totalFor = async (extraFilter: Record<string, string>) =>
    (await data(`/dashboard/api/usage?${query({ ...day, ...extraFilter })}`)).total.input_tokens;
  expect([await totalFor({}), await totalFor({ organisation: '51' })]).toEqual([8, 3]);
  const log = `/dashboard/request-log?${query({ ...day, organisation: '51' })}`;
  expect((await getPage(log)).status).toBe(200);
  const rows = async (path: string) => (await getPage(path)).body.split('\n').length;
  expect(await rows(`${log.replace('request-log', 'request-log/export')}`)).toBeLessThan(
    await rows(`/dashboard/request-log/export?${query(day)}`),
  );
  expect((await getPage('/dashboard/usage?organisation=none')).status).toBe(422);
});

test('a selected user stays selected when the filter is applied and can be cleared', async () => {
  const owner = await signIn(app, await addUser(app, 'platform_admin'));
  await sendJson({ url: app.url, cookie: owner }, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
  await addRecords([[new Date().toISOString(), { model: 'small' }]]);
  const filteredPage = (await getPage(`/dashboard/usage?user=${ada.userId}`, owner)).body;
  const field = /<select id="filter-user" name="user"[\s\S]*?<\/select>/.exec(filteredPage)?.[0] ?? '';
  expect(field).toContain('<option value="">All</option>');
  expect(field).toContain(`<option value="${ada.userId}" selected>ada</option>`);
  expect((await getPage('/dashboard/usage', owner)).body).not.toContain('id="filter-user"');
  const stranger = await signIn(app, await addUser(app));
  expect((await getPage(`/dashboard/usage?user=${ada.userId}`, stranger)).body).not.toContain('>ada<');
});
