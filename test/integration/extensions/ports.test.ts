import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Outbox, QueueSupervisor } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { type JobResult, NotesExtension, runOrder as runNotesOrder } from '../../support/notes-extension';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { until } from '../../support/until';

const notes = new NotesExtension('port-notes');
let database: TestDatabase;
let app: TestApp;
let server: Server;
let baseUrl: string;
let answer: Buffer | 'never' = Buffer.from('{}');

beforeAll(async () => {
  server = createServer((request, response) => {
    if (answer === 'never') return;
    response.setHeader('content-type', 'text/plain');
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.end(request.method === 'GET' ? answer : `${request.method} ${String(request.headers['x-own'])}`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  database = await createTestDatabase();
  app = await startTestApp({
    sharedDatabase: database,
    environment: { EXTENSIONS: notes.path, SUPPLIER_ALLOW: `${new URL(baseUrl).host}=127.0.0.1` },
  });
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  notes.remove();
  await app.close();
  await database.drop();
});

const runOrder = (kind: string, argument: object = {}): Promise<JobResult> =>
  runNotesOrder(app, database.ownerUrl, notes, [kind, argument]);
const query = (sql: string, values?: readonly unknown[]): Promise<JobResult> =>
  runOrder('query', { sql, values });

describe('The db port', () => {
  test('reads and writes the tables of its extension with bound values', async () => {
    expect(await query('SELECT $1::text AS said, $2::int[] AS many', ["it's", [1, 2]])).toEqual({
      answer: [{ said: "it's", many: [1, 2] }],
      problem: null,
    });
    expect(
      await query("INSERT INTO orders (kind, argument, problem) VALUES ('own', '{}', '-') RETURNING kind"),
    ).toEqual({
      answer: [{ kind: 'own' }],
      problem: null,
    });
  });

  test('reads the published views and no other table of the host', async () => {
    await app.database.query("INSERT INTO organisation (name, slug) VALUES ('Acme', 'acme')");
    expect(await query("SELECT slug FROM contract.organisation WHERE slug = 'acme'")).toEqual({
      answer: [{ slug: 'acme' }],
      problem: null,
    });
    expect(await query("SELECT slug FROM organisation WHERE slug = 'acme'")).toMatchObject({
      answer: [{ slug: 'acme' }],
    });
    for (const table of ['public.organisation', 'public.api_key', 'bullmq.migration'])
      expect((await query(`SELECT 1 FROM ${table}`)).problem).toMatch(/^permission denied for /);
    expect((await query("UPDATE contract.organisation SET name = ''")).problem).toBe(
      'permission denied for view organisation',
    );
    expect((await query('CREATE TABLE public.mine (id int)')).problem).toMatch(/permission denied/);
  });

  test('returns exact numbers as numbers and others as text', async () => {
    const numbersSql = `SELECT 3::bigint AS count, 9007199254740991 AS whole, 0.1::numeric(28,9) AS exact,
                            '2026-01-02T03:04:05Z'::timestamptz AS at`;
    expect((await query(numbersSql)).answer).toEqual([
      { count: 3, whole: 9_007_199_254_740_991, exact: '0.100000000', at: '2026-01-02T03:04:05.000Z' },
    ]);
    expect((await query('SELECT 9007199254740993 AS long')).problem).toBe(
      '9007199254740993 is more than a number holds exactly: select it as text, with ::text',
    );
  });

  test('ends a statement that takes too long and accepts the next one', async () => {
    expect((await query('SELECT pg_sleep(60)')).problem).toBe('canceling statement due to statement timeout');
    expect((await query('SELECT 1 AS one')).answer).toEqual([{ one: 1 }]);
  });

  test('ends a statement that returns too much and accepts the next one', async () => {
    expect((await query('SELECT count(n) FROM (SELECT generate_series(1, 10000) AS n) s')).answer).toEqual([
      { count: 10_000 },
    ]);
    const limitError = 'The statement answers more than 10,000 rows or 32 MiB: ask for fewer with LIMIT';
    expect((await query('SELECT generate_series(1, 10001)')).problem).toBe(limitError);
    expect((await query('SELECT generate_series(1, 1000000000)')).problem).toBe(limitError);
    expect((await query("SELECT repeat('x', 20000) FROM generate_series(1, 9000)")).problem).toBe(limitError);
    expect((await query('SELECT 1 AS one')).answer).toEqual([{ one: 1 }]);
  });

  test('commits a transaction completely or not at all', async () => {
    const insert = "INSERT INTO orders (kind, argument, problem) VALUES ('whole', '{}', '-')";
    expect(await runOrder('transaction', { statements: [insert, 'SELECT 1 / 0'] })).toMatchObject({
      problem: 'division by zero',
    });
    const count = "SELECT count(*) FROM orders WHERE kind = 'whole'";
    expect((await query(count)).answer).toEqual([{ count: 0 }]);
    expect((await runOrder('transaction', { statements: [insert, insert] })).problem).toBeNull();
    expect((await query(count)).answer).toEqual([{ count: 2 }]);
    expect((await runOrder('late')).problem).toBe('The transaction is over.');
  });

  test('ends a transaction that stays idle too long', async () => {
    expect((await runOrder('rest', { milliseconds: 6_000 })).problem).toMatch(/terminat|not queryable|idle/i);
    expect((await query('SELECT 1 AS one')).answer).toEqual([{ one: 1 }]);
  });

  test.each([
    'COMMIT',
    ' /* so */ rollback',
    'SET ROLE switchboard_app',
    '-- a\nRESET ROLE',
    'BEGIN',
    'DISCARD ALL',
  ])('refuses %s', async (sql) => {
    expect((await query(sql)).problem).toMatch(
      /^[A-Z]+ is not taken here: the host begins and ends transactions$/,
    );
  });

  test('accepts one statement per call', async () => {
    expect((await query('SELECT 1; SELECT 2')).problem).toBe(
      'cannot insert multiple commands into a prepared statement',
    );
  });

  test('resets the session state between transactions', async () => {
    const statements = [
      'CREATE TEMP TABLE orders_of_mine (id int)',
      "SELECT set_config('search_path', 'pg_catalog', false), set_config('statement_timeout', '0', false)",
      'SELECT pg_advisory_lock(4711)',
      "DO $$ BEGIN EXECUTE 'RESET ROLE'; END $$",
    ];
    expect((await runOrder('transaction', { statements })).problem).toBeNull();
    expect(
      (
        await query(`SELECT current_user::text AS role, to_regclass('orders_of_mine')::text AS left,
          current_setting('statement_timeout') AS bound, current_setting('search_path') AS path,
          (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711) AS locks`)
      ).answer,
    ).toEqual([
      {
        role: expect.stringMatching(/^extension_port_notes_[0-9a-f]{8}$/),
        ...{ left: null, bound: '5s', path: 'ext_port_notes,contract,pg_temp', locks: 0 },
      },
    ]);
  });
});

describe('The mail.send port', () => {
  const mail = { to: 'ann@example.com', subject: 'A note', text: 'It is written.' };

  test('sends plain-text email through the service', async () => {
    expect(await runOrder('mail', mail)).toEqual({ answer: null, problem: null });
    const outbox = app.application.get(Outbox, { strict: false });
    app.application.get(QueueSupervisor).startWorkers();
    await until(async () => (await outbox.list()).some(({ subject }) => subject === 'A note'));
    expect(await outbox.list()).toMatchObject([mail]);
  });

  test.each([
    ['a subject with a line break', { subject: 'A\r\nBcc: all@example.com' }, 'not a subject of one line'],
    ['a list of addresses', { to: 'ann@example.com, bob@example.com' }, 'not a mail address'],
    ['a long text', { text: 'x'.repeat(100_001) }, 'has more than 100,000 characters'],
    ['no text', { text: 7 }, 'text of a mail is no text'],
  ])('refuses %s', async (_what, fields, expected) => {
    expect((await runOrder('mail', { ...mail, ...fields })).problem).toContain(expected);
  });

  test('limits the number of emails per minute', async () => {
    const problems: (string | null)[] = [];
    for (let sent = 0; sent < 61; sent += 1) problems.push((await runOrder('mail', mail)).problem);
    expect(problems.filter((problem) => problem !== null)).toContain(
      'an extension may send 60 mails a minute; try again later',
    );
  });
});

describe('The http.out port', () => {
  test('calls an address that the operator allows', async () => {
    answer = Buffer.from('hello');
    expect((await runOrder('http', { url: `${baseUrl}/a` })).answer).toEqual({
      status: 200,
      type: 'text/plain',
      body: 'hello',
    });
    const putRequest = { url: `${baseUrl}/a`, method: 'PUT', headers: { 'x-own': 'yes' }, body: 'x' };
    expect((await runOrder('http', putRequest)).answer).toMatchObject({ body: 'PUT yes' });
  });

  test('refuses other private addresses', async () => {
    const { port } = new URL(baseUrl);
    for (const url of [`http://127.0.0.2:${port}/`, 'http://169.254.169.254/', 'http://10.0.0.1/'])
      expect((await runOrder('http', { url })).problem).toMatch(/may not be connected to/);
  });

  test('limits the response size and the waiting time', async () => {
    answer = Buffer.alloc(4 * 1024 * 1024 + 1, 'x');
    expect((await runOrder('http', { url: baseUrl })).problem).not.toBeNull();
    answer = Buffer.alloc(4 * 1024 * 1024, 'x');
    expect((await runOrder('http', { url: baseUrl })).problem).toBeNull();
    answer = 'never';
    expect((await runOrder('http', { url: baseUrl, timeoutMs: 50 })).problem).not.toBeNull();
    answer = Buffer.from('{}');
  });

  test.each([
    ['an address that is none', { url: 'file:///etc/passwd' }, 'url is no address'],
    ['a password in the address', { url: 'http://a:b@example.com/' }, 'url is no address'],
    ['another method', { method: 'CONNECT' }, 'method is none of'],
    ['a wait without end', { timeoutMs: 60_001 }, 'timeoutMs is not from 1 to 60,000'],
    ['a header of two lines', { headers: { 'x-a': 'b\r\nx-c: d' } }, ''],
    ['a body of another kind', { body: {} }, 'body is neither a text nor bytes'],
  ])('refuses %s', async (_what, fields, expected) => {
    const { problem } = await runOrder('http', { url: baseUrl, ...fields });
    expect(problem).not.toBeNull();
    expect(problem).toContain(expected);
  });
});

test('an extension gets only the ports it declared', async () => {
  expect((await runOrder('port', { name: 'keys.read' })).answer).toBe('undefined');
  expect((await runOrder('port', { name: 'db' })).answer).toBe('object');
});
