import { type RecordAttributes, insertRequestRecords, serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';
import { addKey, addUser, signIn } from '../../support/people';
import { ask } from '../web/raw-exchange';

let app: TestApp;
let ada: Customer;
let cookie: string;
let ids: string[] = [];

const nobody = { organisationId: null, departmentId: null, projectId: null, walletId: null };
const open = (path: string, as = cookie) =>
  ask(app.url, { path, headers: { cookie: as, accept: 'text/html' } });
const page = (search: string) => open(`/dashboard/request-log?${search}`);
/** A page shows these requests, by their number, in its order. */
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
  const other = await addCustomer(app, 'eve');
  const now = Date.now();
  const facts = (place: number): Partial<RecordAttributes> => ({
    model: place % 40 === 0 ? 'rare' : 'usual',
    servedModel: place % 40 === 0 ? 'rare' : 'usual',
    supplier: place % 30 === 0 ? 'south' : 'north',
    region: place === 33 ? 'us' : 'eu',
    latencyMs: place === 50 ? 60_000 : 100,
    sessionKey: place % 60 === 0 ? 'talk' : null,
    endUser: place === 70 ? 'grace' : null,
    tags: place % 50 === 0 ? ['night', '=cmd()'] : null,
    ...(place % 45 === 0
      ? {
          failover: true,
          attempts: [attempt, { ...attempt, supplier: 'south', status: 200, outcome: 'answered' }],
        }
      : {}),
    ...(place === 11 ? { status: 429, code: 'rate_limit_exceeded', servedModel: null } : {}),
    ...(place === 12 ? { status: 502, code: 'upstream_error' } : {}),
  });
  // Over ten days, so that more than one hour has to be looked into; the higher the number the older.
  const records = Array.from({ length: COUNT }, (_, place) =>
    serialiseRecord(uuidv7(), now - place * 7_200_000, {
      ...ordinaryOutcome({ ...nobody, keyId: ada.keyId, userId: ada.userId, costNano: 0n }),
      ...facts(place),
    }),
  );
  ids = records.map(({ requestId }) => requestId);
  const foreign = serialiseRecord(uuidv7(), now, {
    ...ordinaryOutcome({ ...nobody, keyId: other.keyId, userId: other.userId, costNano: 0n }),
    model: 'foreign',
  });
  await app.database.query("SELECT ensure_request_record_partitions((now() - interval '2 months')::date, 4)");
  await app.database.transaction(async (tx) => void (await insertRequestRecords(tx, [...records, foreign])));
});
afterAll(() => app.close());

test('pages go back and forth, newest first', async () => {
  const first = (await page('')).body;
  expect(numbersIn(first)).toEqual(Array.from({ length: 50 }, (_, place) => place));
  const second = (await open(linkOf(first, 'next'))).body;
  expect(numbersIn(second)[0]).toBe(50);
  expect(numbersIn((await open(linkOf(second, 'prev'))).body)).toEqual(numbersIn(first));
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
])('filter %s', async (search, expected) => {
  expect(numbersIn((await page(search)).body)).toEqual(expected);
});

test('a filter goes on over pages, in both directions', async () => {
  const first = (await page('supplier=north')).body;
  expect(numbersIn(first)).toHaveLength(50);
  const second = (await open(linkOf(first, 'next'))).body;
  const third = (await open(linkOf(second, 'next'))).body;
  expect(numbersIn(third)).toHaveLength(16);
  expect(numbersIn((await open(linkOf(third, 'prev'))).body)).toEqual(numbersIn(second));
  expect(numbersIn((await open(linkOf(second, 'prev'))).body)).toEqual(numbersIn(first));
});

test('one request is found by its id, with its tries, without scripts', async () => {
  const body = (await page(`request_id=${ids[45]}&open=${ids[45]}`)).body;
  expect(numbersIn(body)).toEqual([45]);
  expect(body).toContain('north · eu · m');
  expect(body).toContain('503 overloaded');
  expect(body).toMatch(new RegExp(`id="request-${ids[45]}">`));
});

test('columns are chosen in the address, and following is a matter of the address as well', async () => {
  const body = (await page('columns=tags,session')).body;
  expect(body).toContain('night, &#x3D;cmd()');
  expect(body).toContain('Hide Tags');
  const live = (await page('live=on')).body;
  expect(live).toContain('hx-trigger="every 5s"');
  expect(live).toContain('data-live-pause="#request-log"');
  expect(body).not.toContain('hx-trigger="every 5s"');
});

test('the file holds what the filter shows, and no formula', async () => {
  const { headers, body } = await open('/dashboard/request-log/export?tag=night');
  expect(headers['x-svc-export-capped-at']).toBe('1000000');
  const lines = body.trimEnd().split('\r\n');
  expect(lines).toHaveLength(4);
  expect(lines[1]).toContain(ids[0]);
  expect((await open('/dashboard/request-log/export')).body.trimEnd().split('\r\n')).toHaveLength(COUNT + 1);
});

test('of another account nothing is shown', async () => {
  const stranger = await signIn(app, await addUser(app));
  expect(numbersIn((await open(`/dashboard/request-log?request_id=${ids[1]}`, stranger)).body)).toEqual([]);
  expect((await open('/dashboard/request-log', stranger)).body).toContain('No requests in this period');
});

test.each(['status=3xx', 'request_id=1', 'min_cost=much', 'code=A B', 'columns=1', 'cursor=x'])(
  'what does not fit is refused: %s',
  async (wrong) => {
    expect([400, 422]).toContain((await page(wrong)).status);
  },
);

test('each request says what is kept of its text, and until when', async () => {
  const asker = await addCustomer(app, 'kai');
  const chat = await addKey(app, asker.userId, { kind: 'webchat' });
  const record = (hoursAgo: number, facts: Partial<RecordAttributes>, keyId = asker.keyId) =>
    serialiseRecord(uuidv7(), Date.now() - hoursAgo * 3_600_000, {
      ...ordinaryOutcome({ ...nobody, keyId, userId: asker.userId, costNano: 0n }),
      ...facts,
    });
  const [plain, said, stored, gone, sampled] = [
    record(1, { surface: 'chat' }),
    record(1, { surface: 'chat' }, chat.id),
    record(1, { surface: 'responses' }),
    record(30, { surface: 'responses' }),
    record(2, { surface: 'chat' }),
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
    [sampled.requestId, asker.keyId],
  );
  const own = await signIn(app, asker.userId);
  const contentOf = async ({ requestId }: { readonly requestId: string }) => {
    const { body } = await open(`/dashboard/request-log?request_id=${requestId}&open=${requestId}`, own);
    return /Content<\/dt>\s*<dd>([^<]*)/.exec(body)?.[1];
  };
  expect(await contentOf(plain)).toBe('The text of requests is not kept.');
  expect(await contentOf(said)).toBe('Kept encrypted in the conversation until that is deleted.');
  expect(await contentOf(stored)).toMatch(/^May be kept encrypted until .*, so that a later request/);
  expect(await contentOf(gone)).toBe('The text of requests is not kept.');
  expect(await contentOf(sampled)).toBe('Kept encrypted for evaluation until 2 Jan, 03:04.');
});
