import { type RecordAttributes, insertRequestRecords, serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';
import { addKey, addUser, signIn } from '../../support/users';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;
let ada: Customer;
let cookie: string;
let ids: string[] = [];

const noOwners = { organisationId: null, departmentId: null, projectId: null, walletId: null };
const getPage = (path: string, sessionCookie = cookie) =>
  sendRaw(app.url, { path, headers: { cookie: sessionCookie, accept: 'text/html' } });
const page = (search: string) => getPage(`/dashboard/request-log?${search}`);
/** Returns the numbers of the listed requests, in order. */
const numbersIn = (body: string) =>
  [...body.matchAll(/id="request-([0-9a-f-]{36})"/g)].map(([, id]) => ids.indexOf(id ?? ''));
const linkOf = (body: string, rel: string) =>
  new RegExp(`href="([^"]+)" rel="${rel}"`)
    .exec(body)?.[1]
    ?.replaceAll('&amp;', '&')
    .replaceAll('&#x3D;', '=') ?? '';

const COUNT = 120;
const attempt = {
  supplier: 'north',
  region: 'eu',
  model: 'm',
  status: 503,
  milliseconds: 7,
  outcome: 'overloaded',
};

beforeAll(async () => {
  app = await startTestApp();
  ada = await addCustomer(app, 'ada');
  cookie = await signIn(app, ada.userId);
  const otherCustomer = await addCustomer(app, 'eve');
  const now = Date.now();
  const attributes = (index: number): Partial<RecordAttributes> => ({
    model: index % 40 === 0 ? 'rare' : 'usual',
    servedModel: index % 40 === 0 ? 'rare' : 'usual',
    supplier: index % 30 === 0 ? 'south' : 'north',
    region: index === 33 ? 'us' : 'eu',
    latencyMs: index === 50 ? 60_000 : 100,
    sessionKey: index % 60 === 0 ? 'talk' : null,
    endUser: index === 70 ? 'grace' : null,
    tags: index % 50 === 0 ? ['night', '=cmd()'] : null,
    ...(index % 45 === 0
      ? {
          failover: true,
          attempts: [attempt, { ...attempt, supplier: 'south', status: 200, outcome: 'answered' }],
        }
      : {}),
    ...(index === 11 ? { status: 429, code: 'rate_limit_exceeded', servedModel: null } : {}),
    ...(index === 12 ? { status: 502, code: 'upstream_error' } : {}),
  });
  // Spread over ten days, so that queries span several hourly partitions; higher numbers are older.
  const records = Array.from({ length: COUNT }, (_, index) =>
    serialiseRecord(uuidv7(), now - index * 7_200_000, {
      ...ordinaryOutcome({ ...noOwners, keyId: ada.keyId, userId: ada.userId, costNano: 0n }),
      ...attributes(index),
    }),
  );
  ids = records.map(({ requestId }) => requestId);
  const otherRecord = serialiseRecord(uuidv7(), now, {
    ...ordinaryOutcome({
      ...noOwners,
      keyId: otherCustomer.keyId,
      userId: otherCustomer.userId,
      costNano: 0n,
    }),
    model: 'foreign',
  });
  await app.database.query("SELECT ensure_request_record_partitions((now() - interval '2 months')::date, 4)");
  await app.database.transaction(
    async (tx) => void (await insertRequestRecords(tx, [...records, otherRecord])),
  );
});
afterAll(() => app.close());

test('pagination works in both directions, newest first', async () => {
  const firstPage = (await page('')).body;
  expect(numbersIn(firstPage)).toEqual(Array.from({ length: 50 }, (_, place) => place));
  const secondPage = (await getPage(linkOf(firstPage, 'next'))).body;
  expect(numbersIn(secondPage)[0]).toBe(50);
  expect(numbersIn((await getPage(linkOf(secondPage, 'prev'))).body)).toEqual(numbersIn(firstPage));
});

test.each([
  ['model=rare', [0, 40, 80]],
  ['supplier=south', [0, 30, 60, 90]],
  ['region=us', [33]],
  ['status=4xx', [11]],
  ['status=5xx', [12]],
  ['code=upstream_error', [12]],
  ['failover=yes', [0, 45, 90]],
  ['min_latency=1000', [50]],
  ['session=talk', [0, 60]],
  ['end_user=grace', [70]],
  ['tag=night', [0, 50, 100]],
  ['tag=night&supplier=south', [0]],
  ['model=rare&failover=yes', [0]],
  ['min_cost=0.5', []],
  ['model=foreign', []],
])('the filter %s returns the matching requests', async (search, expected) => {
  expect(numbersIn((await page(search)).body)).toEqual(expected);
});

test('a filter persists across pages in both directions', async () => {
  const firstPage = (await page('supplier=north')).body;
  expect(numbersIn(firstPage)).toHaveLength(50);
  const secondPage = (await getPage(linkOf(firstPage, 'next'))).body;
  const thirdPage = (await getPage(linkOf(secondPage, 'next'))).body;
  expect(numbersIn(thirdPage)).toHaveLength(16);
  expect(numbersIn((await getPage(linkOf(thirdPage, 'prev'))).body)).toEqual(numbersIn(secondPage));
  expect(numbersIn((await getPage(linkOf(secondPage, 'prev'))).body)).toEqual(numbersIn(firstPage));
});

test('a request is found by its id and shows its attempts without JavaScript', async () => {
  const body = (await page(`request_id=${ids[45]}&open=${ids[45]}`)).body;
  expect(numbersIn(body)).toEqual([45]);
  expect(body).toContain('north · eu · m');
  expect(body).toContain('503 overloaded');
  expect(body).toMatch(new RegExp(`id="request-${ids[45]}">`));
});

test('the query selects columns and live updates', async () => {
  const body = (await page('columns=tags,session')).body;
  expect(body).toContain('night, &#x3D;cmd()');
  expect(body).toContain('Hide Tags');
  const livePage = (await page('live=on')).body;
  expect(livePage).toContain('hx-trigger="every 5s"');
  expect(livePage).toContain('data-live-pause="#request-log"');
  expect(body).not.toContain('hx-trigger="every 5s"');
});

test('the export contains the filtered requests without spreadsheet formulas', async () => {
  const { headers, body } = await getPage('/dashboard/request-log/export?tag=night');
  expect(headers['x-svc-export-capped-at']).toBe('1000000');
  const lines = body.trimEnd().split('\r\n');
  expect(lines).toHaveLength(4);
  expect(lines[1]).toContain(ids[0]);
  expect((await getPage('/dashboard/request-log/export')).body.trimEnd().split('\r\n')).toHaveLength(
    COUNT + 1,
  );
});

test('requests of other accounts are not shown', async () => {
  const stranger = await signIn(app, await addUser(app));
  expect(numbersIn((await getPage(`/dashboard/request-log?request_id=${ids[1]}`, stranger)).body)).toEqual(
    [],
  );
  expect((await getPage('/dashboard/request-log', stranger)).body).toContain('No requests in this period');
});

test.each(['status=3xx', 'request_id=1', 'min_cost=much', 'code=A B', 'columns=1', 'cursor=x'])(
  'an invalid query returns 422: %s',
  async (wrong) => {
    expect([400, 422]).toContain((await page(wrong)).status);
  },
);

test('each request shows which content is stored and until when', async () => {
  const customer = await addCustomer(app, 'kai');
  const chat = await addKey(app, customer.userId, { kind: 'webchat' });
  const addRecord = (hoursAgo: number, facts: Partial<RecordAttributes>, keyId = customer.keyId) =>
    serialiseRecord(uuidv7(), Date.now() - hoursAgo * 3_600_000, {
      ...ordinaryOutcome({ ...noOwners, keyId, userId: customer.userId, costNano: 0n }),
      ...facts,
    });
  const [plain, said, stored, gone, sampled] = [
    addRecord(1, { surface: 'chat' }),
    addRecord(1, { surface: 'chat' }, chat.id),
    addRecord(1, { surface: 'responses' }),
    addRecord(30, { surface: 'responses' }),
    addRecord(2, { surface: 'chat' }),
  ] as const;
  await app.database.transaction(
    async (tx) => void (await insertRequestRecords(tx, [plain, said, stored, gone, sampled])),
  );
  await app.database.query(
    `WITH house AS (INSERT INTO organisation (name, slug) VALUES ('Kept', 'kept') RETURNING id)
     INSERT INTO quality_sample (request_id, created_at, organisation_id, key_id, surface, requested_model, served_model,
       bucket, language, sampled_by, inclusion_prob, content, content_until)
     SELECT $1, now(), id, $2, 'chat', 'm', 'm', 'maths/short', 'en', 'rate', 0.5, '\\x00', '2099-01-02T03:04:00Z'
       FROM house`,
    [sampled.requestId, customer.keyId],
  );
  const ownCookie = await signIn(app, customer.userId);
  const contentOf = async ({ requestId }: { readonly requestId: string }) => {
    const { body } = await getPage(
      `/dashboard/request-log?request_id=${requestId}&open=${requestId}`,
      ownCookie,
    );
    return /Content<\/dt>\s*<dd>([^<]*)/.exec(body)?.[1];
  };
  expect(await contentOf(plain)).toBe('The text of requests is not kept.');
  expect(await contentOf(said)).toBe('Kept encrypted in the conversation until that is deleted.');
  expect(await contentOf(stored)).toMatch(/^May be kept encrypted until .*, so that a later request/);
  expect(await contentOf(gone)).toBe('The text of requests is not kept.');
  expect(await contentOf(sampled)).toBe('Kept encrypted for evaluation until 2 Jan, 03:04.');
});
