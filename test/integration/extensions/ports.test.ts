import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Outbox, QueueSupervisor } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { type Answered, NotesExtension, ordered } from '../../support/notes-extension';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { until } from '../../support/until';

const notes = new NotesExtension('port-notes');
let database: TestDatabase;
let app: TestApp;
let server: Server;
let base: string;
let answer: Buffer | 'never' = Buffer.from('{}');

beforeAll(async () => {
  server = createServer((request, response) => {
    if (answer === 'never') return;
    response.setHeader('content-type', 'text/plain');
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.end(request.method === 'GET' ? answer : `${request.method} ${String(request.headers['x-own'])}`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  database = await createTestDatabase();
  app = await startTestApp({
    sharedDatabase: database,
    environment: { EXTENSIONS: notes.path, SUPPLIER_ALLOW: `${new URL(base).host}=127.0.0.1` },
  });
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  notes.remove();
  await app.close();
  await database.drop();
});

const order = (kind: string, argument: object = {}): Promise<Answered> =>
  ordered(app, database.ownerUrl, notes, [kind, argument]);
const query = (sql: string, values?: readonly unknown[]): Promise<Answered> =>
  order('query', { sql, values });

describe('the port db', () => {
  test('reads and writes the tables of its extension, with values beside the text', async () => {
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

  test('reads the published views, and nothing else of the host', async () => {
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

  test('gives numbers where they are exact, and text where they would not be', async () => {
    const numbers = `SELECT 3::bigint AS count, 9007199254740991 AS whole, 0.1::numeric(28,9) AS exact,
                            '2026-01-02T03:04:05Z'::timestamptz AS at`;
    expect((await query(numbers)).answer).toEqual([
      { count: 3, whole: 9_007_199_254_740_991, exact: '0.100000000', at: '2026-01-02T03:04:05.000Z' },
    ]);
    expect((await query('SELECT 9007199254740993 AS long')).problem).toBe(
      '9007199254740993 is more than a number holds exactly: select it as text, with ::text',
    );
  });

  test('a statement that takes long ends, and the next one is answered', async () => {
    expect((await query('SELECT pg_sleep(60)')).problem).toBe('canceling statement due to statement timeout');
    expect((await query('SELECT 1 AS one')).answer).toEqual([{ one: 1 }]);
  });

  test('a statement that answers too much ends, and the next one is answered', async () => {
    expect((await query('SELECT count(n) FROM (SELECT generate_series(1, 10000) AS n) s')).answer).toEqual([
      { count: 10_000 },
    ]);
    const most = 'The statement answers more than 10,000 rows or 32 MiB: ask for fewer with LIMIT';
    expect((await query('SELECT generate_series(1, 10001)')).problem).toBe(most);
    expect((await query('SELECT generate_series(1, 1000000000)')).problem).toBe(most);
    expect((await query("SELECT repeat('x', 20000) FROM generate_series(1, 9000)")).problem).toBe(most);
    expect((await query('SELECT 1 AS one')).answer).toEqual([{ one: 1 }]);
  });

  test('a transaction is done whole or not at all', async () => {
    const insert = "INSERT INTO orders (kind, argument, problem) VALUES ('whole', '{}', '-')";
    expect(await order('transaction', { statements: [insert, 'SELECT 1 / 0'] })).toMatchObject({
      problem: 'division by zero',
    });
    const count = "SELECT count(*) FROM orders WHERE kind = 'whole'";
    expect((await query(count)).answer).toEqual([{ count: 0 }]);
    expect((await order('transaction', { statements: [insert, insert] })).problem).toBeNull();
    expect((await query(count)).answer).toEqual([{ count: 2 }]);
    expect((await order('late')).problem).toBe('The transaction is over.');
  });

  test('a transaction that rests too long is ended by the server', async () => {
    expect((await order('rest', { milliseconds: 6_000 })).problem).toMatch(/terminat|not queryable|idle/i);
    expect((await query('SELECT 1 AS one')).answer).toEqual([{ one: 1 }]);
  });

  test.each([
    'COMMIT',
    ' /* so */ rollback',
    'SET ROLE switchboard_app',
    '-- a\nRESET ROLE',
    'BEGIN',
    'DISCARD ALL',
  ])('takes no %s', async (sql) => {
    expect((await query(sql)).problem).toMatch(
      /^[A-Z]+ is not taken here: the host begins and ends transactions$/,
    );
  });

  test('takes one statement at a time', async () => {
    expect((await query('SELECT 1; SELECT 2')).problem).toBe(
      'cannot insert multiple commands into a prepared statement',
    );
  });

  test('what one transaction leaves behind in its session, the next one does not meet', async () => {
    const statements = [
      'CREATE TEMP TABLE orders_of_mine (id int)',
      "SELECT set_config('search_path', 'pg_catalog', false), set_config('statement_timeout', '0', false)",
      'SELECT pg_advisory_lock(4711)',
      "DO $$ BEGIN EXECUTE 'RESET ROLE'; END $$",
    ];
    expect((await order('transaction', { statements })).problem).toBeNull();
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

describe('the port mail.send', () => {
  const mail = { to: 'ann@example.com', subject: 'A note', text: 'It is written.' };

  test('sends plain text by the mails of the service', async () => {
    expect(await order('mail', mail)).toEqual({ answer: null, problem: null });
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
    expect((await order('mail', { ...mail, ...fields })).problem).toContain(expected);
  });

  test('bounds how many are sent', async () => {
    const problems: (string | null)[] = [];
    for (let sent = 0; sent < 61; sent += 1) problems.push((await order('mail', mail)).problem);
    expect(problems.filter((problem) => problem !== null)).toContain(
      'an extension may send 60 mails a minute; try again later',
    );
  });
});

describe('the port http.out', () => {
  test('asks an address that the operator allows', async () => {
    answer = Buffer.from('hello');
    expect((await order('http', { url: `${base}/a` })).answer).toEqual({
      status: 200,
      type: 'text/plain',
      body: 'hello',
    });
    const put = { url: `${base}/a`, method: 'PUT', headers: { 'x-own': 'yes' }, body: 'x' };
    expect((await order('http', put)).answer).toMatchObject({ body: 'PUT yes' });
  });

  test('asks no other private address', async () => {
    const { port } = new URL(base);
    for (const url of [`http://127.0.0.2:${port}/`, 'http://169.254.169.254/', 'http://10.0.0.1/'])
      expect((await order('http', { url })).problem).toMatch(/may not be connected to/);
  });

  test('bounds the answer and the wait', async () => {
    answer = Buffer.alloc(4 * 1024 * 1024 + 1, 'x');
    expect((await order('http', { url: base })).problem).not.toBeNull();
    answer = Buffer.alloc(4 * 1024 * 1024, 'x');
    expect((await order('http', { url: base })).problem).toBeNull();
    answer = 'never';
    expect((await order('http', { url: base, timeoutMs: 50 })).problem).not.toBeNull();
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
    const { problem } = await order('http', { url: base, ...fields });
    expect(problem).not.toBeNull();
    expect(problem).toContain(expected);
  });
});

test('a port that it did not name is not there', async () => {
  expect((await order('port', { name: 'keys.read' })).answer).toBe('undefined');
  expect((await order('port', { name: 'db' })).answer).toBe('object');
});
