import { createHash } from 'node:crypto';
import { Lifecycle } from '#product/gateway';
import { startTestApp, type TestApp } from '../../support/app';
import { administer, createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Proxy, proxyTo } from '../../support/proxy';
import { startSimulator, type Simulator } from '../../support/simulator';
import { call as ask } from '../keys/http';

let supplier: Simulator;
let database: TestDatabase;
let proxy: Proxy;
let here: TestApp;
let there: TestApp;
let root: string;
let key: string;

beforeAll(async () => {
  supplier = await startSimulator();
  database = await createTestDatabase();
  proxy = await proxyTo(database.url);
  const common = {
    sandboxUrl: supplier.url,
    environment: {
      KEY_PEPPER: 'pepper of both nodes',
      MASTER_KEY: 'master key of both nodes',
      IDEMPOTENT_ANSWER_LIMIT: '64KiB',
      // A supplier that says nothing is waited for so long.
      SUPPLIER_FIRST_BYTE_TIMEOUT: '5s',
    },
  };
  here = await startTestApp({ ...common, sharedDatabase: database });
  there = await startTestApp({ ...common, sharedDatabase: { ...database, url: proxy.url } });
  root = here.firstKeys?.root ?? '';
});
afterAll(async () => {
  await here.close();
  await there.close();
  await proxy.close();
  await supplier.stop();
  await database.drop();
});
beforeEach(async () => {
  key = await freshKey();
  await supplier.clearRequests();
});
afterEach(() => supplier.clearFaults());

const freshKey = async (): Promise<string> => {
  const made = await ask<{ key: string }>(here, root, 'POST', '/v1/manage/keys', {
    name: 'one',
    budget_limit: 100,
  });
  return made.body.key;
};

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly code: string | undefined;
}

interface Asking {
  readonly node?: TestApp;
  readonly apiKey?: string;
  readonly path?: string;
  readonly body?: object;
  readonly signal?: AbortSignal;
  readonly headers?: Record<string, string>;
}

const conversation = {
  model: 'sim-small',
  messages: [{ role: 'user', content: 'A secret question [[tokens=12]]' }],
};

async function send(idempotencyKey: string | null, asking: Asking = {}): Promise<Answer> {
  const { node = here, apiKey = key, path = '/v1/chat/completions', body = conversation } = asking;
  const answer = await fetch(node.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
      ...asking.headers,
    },
    body: JSON.stringify(body),
    signal: asking.signal ?? AbortSignal.timeout(25_000),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const code =
    answer.status < 300
      ? undefined
      : (JSON.parse(bytes.toString()) as { error: { code: string } }).error.code;
  return { status: answer.status, headers: answer.headers, bytes, code };
}

const outcomeOf = ({ status, code }: Answer): [number, string | undefined] => [status, code];
const isReplay = ({ headers }: Answer): boolean => headers.get('x-svc-replayed') === 'true';
const calls = async (): Promise<number> => (await supplier.requests()).length;

/** A caller is told this about a request. */
const told = ({ headers }: Answer): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-svc-') || name === 'content-type'));

/** The same of an answer that is repeated, which costs nothing more. */
const repeated = (first: Answer): Record<string, string> => ({
  ...told(first),
  'x-svc-cost-usd': '0',
  'x-svc-replayed': 'true',
});

/** The key was charged this in all, for so many requests; failures are on record as well, for nothing. */
async function charged(): Promise<{ dollars: number; records: number }> {
  const { body } = await ask<{ id: string; budget_used: number }>(here, key, 'GET', '/v1/key');
  const [row] = await here.database.query<{ records: number; nano: string }>(
    `SELECT count(*) FILTER (WHERE code IS NULL)::integer AS records, coalesce(sum(cost_nano), 0) AS nano FROM request_record
      WHERE key_id = (SELECT id FROM api_key WHERE public_id = $1)`,
    [body.id],
  );
  expect(body.budget_used).toBe(Number(row?.nano) / 1e9);
  return { dollars: body.budget_used, records: row?.records ?? 0 };
}

const rows = (change: string): Promise<unknown> =>
  here.database.query(`UPDATE idempotent_answer SET ${change}`);
const lapse = (): Promise<unknown> => rows(`leased_until = now() - interval '1 second'`);

describe('a call that is repeated', () => {
  test('is answered again byte for byte, by any node, and neither carried out nor charged again', async () => {
    const first = await send('one');
    expect(first.status).toBe(200);
    expect(isReplay(first)).toBe(false);
    const once = await charged();
    expect(once).toMatchObject({ records: 1 });
    expect(once.dollars).toBeGreaterThan(0);
    for (const node of [here, there]) {
      const again = await send('one', { node });
      expect(again.status).toBe(200);
      expect(again.bytes.equals(first.bytes)).toBe(true);
      expect(told(again)).toEqual(repeated(first));
      expect(Object.keys(told(again)).length).toBeGreaterThan(6);
      expect(again.headers.get('x-request-id')).toBe(first.headers.get('x-request-id'));
      expect(isReplay(again)).toBe(true);
    }
    expect(await calls()).toBe(1);
    expect(await charged()).toEqual(once);
  });

  test.each([
    ['/v1/messages', { ...conversation, max_tokens: 50 }],
    ['/v1/audio/speech', { model: 'sim-speech', input: 'Hello there', response_format: 'wav' }],
    ['/v1/embeddings', { model: 'sim-embed', input: 'one' }],
  ])('is repeated on %s too', async (path, body) => {
    const [first, again] = [await send('two', { path, body }), await send('two', { path, body })];
    expect(first.status).toBe(200);
    expect(again.bytes.equals(first.bytes)).toBe(true);
    expect(told(again)).toEqual(repeated(first));
    expect(isReplay(again)).toBe(true);
    expect(await calls()).toBe(1);
  });

  test('twenty times at once over two nodes is carried out once, and the others hear that it runs', async () => {
    await supplier.addFault({ fault: { kind: 'delay', ms: 700 } });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => send('at-once', { node: at % 2 === 0 ? here : there })),
    );
    const served = answers.filter(({ status }) => status === 200);
    const told409 = answers.filter(({ status }) => status === 409);
    expect([served.filter((it) => !isReplay(it)).length, served.length + told409.length]).toEqual([1, 20]);
    expect(told409.length).toBeGreaterThan(0);
    for (const answer of told409) {
      expect(answer.code).toBe('operation_in_progress');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    const replays = await Promise.all(Array.from({ length: 20 }, () => send('at-once')));
    expect(replays.every((it) => isReplay(it) && it.bytes.equals(served[0]!.bytes))).toBe(true);
    expect(await calls()).toBe(1);
    expect(await charged()).toMatchObject({ records: 1 });
  });

  test('with another body, or on another route, is a conflict', async () => {
    await send('three', { body: { ...conversation, max_tokens: 20 } });
    const bodies = [conversation, { ...conversation, max_tokens: 21 }];
    for (const body of bodies)
      expect(outcomeOf(await send('three', { body }))).toEqual([409, 'idempotency_conflict']);
    const route = { path: '/v1/messages', body: { ...conversation, max_tokens: 20 } };
    expect(outcomeOf(await send('three', route))).toEqual([409, 'idempotency_conflict']);
    expect(await calls()).toBe(1);
  });

  test('by another API key is another call; a key that is lost repeats nothing', async () => {
    const first = await send('four');
    const other = await freshKey();
    const theirs = await send('four', { apiKey: other });
    expect([theirs.status, isReplay(theirs)]).toEqual([200, false]);
    expect(theirs.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(await calls()).toBe(2);
    const { id } = (await ask<{ id: string }>(here, other, 'GET', '/v1/key')).body;
    await ask(here, root, 'DELETE', `/v1/manage/keys/${id}`);
    expect((await send('four', { apiKey: other })).status).toBe(401);
  });

  test('after a failure is carried out, and only then answered the same', async () => {
    await supplier.addFault({ fault: { kind: 'status', status: 400 } });
    expect((await send('five')).status).toBe(400);
    await supplier.clearFaults();
    const second = await send('five');
    expect([second.status, isReplay(second)]).toEqual([200, false]);
    expect(isReplay(await send('five'))).toBe(true);
    expect(await calls()).toBe(2);
    expect(await charged()).toMatchObject({ records: 1 });
  });

  test('as a stream runs as often as it is asked for', async () => {
    const body = { ...conversation, stream: true };
    for (const _ of [1, 2]) expect((await send('six', { body })).bytes.toString()).toContain('[DONE]');
    expect(await calls()).toBe(2);
  });
});

describe('an idempotency key', () => {
  test.each([
    ['empty', ''],
    ['with a blank', 'a b'],
    ['of 256 characters', 'k'.repeat(256)],
    ['beyond ASCII', 'clé'],
  ])('%s is refused before anything is done', async (_name, bad) => {
    const answer = await send(bad);
    expect(outcomeOf(answer)).toEqual([400, 'invalid_idempotency_key']);
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({ error: { param: 'Idempotency-Key' } });
    expect(await calls()).toBe(0);
  });

  test('of 255 characters is a good one, and none at all leaves no trace', async () => {
    const before = await here.database.query('SELECT claim FROM idempotent_answer');
    expect((await send(null)).status).toBe(200);
    expect(await here.database.query('SELECT claim FROM idempotent_answer')).toEqual(before);
    expect((await send('~'.repeat(255))).status).toBe(200);
    expect(isReplay(await send('~'.repeat(255)))).toBe(true);
  });
});

describe('a call that was lost', () => {
  test('is carried out by whoever asks once its lease is over, and spoils nothing when it ends late', async () => {
    await supplier.addFault({ fault: { kind: 'hang' }, times: 1 });
    const lost = send('seven');
    await supplier.waitForRequests(1);
    expect(outcomeOf(await send('seven', { node: there }))).toEqual([409, 'operation_in_progress']);
    await lapse();
    const second = await send('seven', { node: there });
    expect([second.status, isReplay(second)]).toEqual([200, false]);
    expect(outcomeOf(await lost)).toEqual([504, 'upstream_timeout']);
    const third = await send('seven');
    expect(isReplay(third) && third.bytes.equals(second.bytes)).toBe(true);
    expect(await charged()).toMatchObject({ records: 1 });
  });

  test('because its caller timed out goes on, and is paid once', async () => {
    await supplier.addFault({ fault: { kind: 'delay', ms: 2_500 }, times: 1 });
    const caller = new AbortController();
    const left = send('eight', { signal: caller.signal });
    await supplier.waitForRequests(1);
    caller.abort();
    await expect(left).rejects.toThrow();
    expect(outcomeOf(await send('eight', { node: there }))).toEqual([409, 'operation_in_progress']);
    await here.application.get(Lifecycle).waitUntilIdle(20_000);
    const again = await send('eight', { node: there });
    expect([again.status, isReplay(again)]).toEqual([200, true]);
    expect(await calls()).toBe(1);
    expect(await charged()).toMatchObject({ records: 1 });
    expect(here.log.join()).toContain('caller left');
  });

  test('because its caller left, and that fails after all, costs nothing and may be asked again', async () => {
    await supplier.addFault({ fault: { kind: 'hang' }, times: 1 });
    const caller = new AbortController();
    const left = send('nobody', { signal: caller.signal });
    await supplier.waitForRequests(1);
    caller.abort();
    await expect(left).rejects.toThrow();
    await here.application.get(Lifecycle).waitUntilIdle(20_000);
    expect(await charged()).toEqual({ dollars: 0, records: 0 });
    expect(outcomeOf(await send('nobody'))).toEqual([200, undefined]);
    expect(await charged()).toMatchObject({ records: 1 });
  });

  test('after it was charged is not charged again', async () => {
    const unkeep = `CREATE FUNCTION unkeep() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'the disk is full'; END $$;
      CREATE TRIGGER unkeep BEFORE UPDATE ON idempotent_answer FOR EACH ROW
      WHEN (new.state = 'answered') EXECUTE FUNCTION unkeep()`;
    await administer(database.ownerUrl, unkeep);
    const first = await send('nine');
    await administer(database.ownerUrl, 'DROP FUNCTION unkeep() CASCADE');
    expect(first.status).toBe(200);
    // Two nodes in one process share what Nest logs with.
    expect([...here.log, ...there.log].join()).toContain('the disk is full');
    expect(outcomeOf(await send('nine'))).toEqual([409, 'operation_in_progress']);
    await lapse();
    for (const node of [here, there]) {
      const again = await send('nine', { node });
      expect(outcomeOf(again)).toEqual([409, 'idempotency_conflict']);
      expect(JSON.parse(again.bytes.toString())).toMatchObject({
        error: { details: { first_request_id: first.headers.get('x-request-id') } },
      });
    }
    expect(await calls()).toBe(1);
    expect(await charged()).toMatchObject({ records: 1 });
  });
});

describe('an answer is kept', () => {
  test('ends after a day', async () => {
    const first = await send('ten');
    const [row] = await here.database.query<{ hours: number }>(
      `SELECT extract(epoch FROM expires_at - now())::float8 / 3600 AS hours FROM idempotent_answer
        ORDER BY claimed_at DESC LIMIT 1`,
    );
    expect(row?.hours).toBeCloseTo(24, 1);
    await rows(`expires_at = now() - interval '1 second'`);
    const second = await send('ten');
    expect([second.status, isReplay(second)]).toEqual([200, false]);
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(isReplay(await send('ten'))).toBe(true);
  });

  test('tells whoever reads the table neither the prompt nor the answer, nor lets them guess', async () => {
    const first = await send('a-key-of-mine');
    const dump = Buffer.from(JSON.stringify(await here.database.query('SELECT * FROM idempotent_answer')));
    const raw = await here.database.query<{ text: string }>(
      'SELECT r::text AS text FROM idempotent_answer r',
    );
    const hex = raw.map(({ text }) => text).join('\n');
    const { choices } = JSON.parse(first.bytes.toString()) as { choices: { message: { content: string } }[] };
    const body = JSON.stringify(conversation);
    const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
    const secrets = ['A secret question', choices[0]!.message.content, 'a-key-of-mine', 'x-svc', 'sim-small'];
    for (const secret of secrets) {
      expect(dump.includes(secret)).toBe(false);
      expect(hex).not.toContain(Buffer.from(secret).toString('hex'));
    }
    for (const guess of [body, 'a-key-of-mine']) expect(hex).not.toContain(sha(guess));
    expect(hex).toContain(first.headers.get('x-request-id'));
  });

  test('opens for its own call alone', async () => {
    const other = await freshKey();
    await send('eleven');
    await send('eleven', { apiKey: other });
    // Somebody who may write to the table gives one customer the answer of another.
    await here.database.query(
      `UPDATE idempotent_answer a SET ciphertext = b.ciphertext, nonce = b.nonce, wrapped_key = b.wrapped_key
         FROM idempotent_answer b WHERE a.claim <> b.claim AND (a.state, b.state) = ('answered', 'answered')`,
    );
    expect(outcomeOf(await send('eleven'))).toEqual([409, 'idempotency_conflict']);
  });

  test('has a largest size: beyond it a call is carried out, but once', async () => {
    const body = { ...conversation, messages: [{ role: 'user', content: 'x [[tokens=30000]]' }] };
    const first = await send('twelve', { body });
    expect(first.bytes.length).toBeGreaterThan(65_536);
    expect(first.status).toBe(200);
    expect(outcomeOf(await send('twelve', { body }))).toEqual([409, 'idempotency_conflict']);
    expect(await calls()).toBe(1);
  });
});

test('a key that is made twice under one idempotency key is made once, and its secret lies there sealed', async () => {
  const asking = { apiKey: root, path: '/v1/manage/keys', body: { name: 'made once' } };
  const [first, again] = [await send('make', asking), await send('make', { ...asking, node: there })];
  expect(first.status).toBe(200);
  expect(again.bytes.equals(first.bytes)).toBe(true);
  expect([isReplay(first), isReplay(again)]).toEqual([false, true]);
  const { key: secret } = JSON.parse(first.bytes.toString()) as { key: string };
  expect((await send(null, { apiKey: secret })).status).toBe(200);
  const [made] = await here.database.query<{ count: number }>(
    "SELECT count(*)::integer AS count FROM api_key WHERE name = 'made once'",
  );
  expect(made?.count).toBe(1);
  const kept = await here.database.query<{ text: string }>('SELECT r::text AS text FROM idempotent_answer r');
  expect(kept.map(({ text }) => text).join()).not.toContain(Buffer.from(secret).toString('hex'));
  const other = { ...asking, body: { name: 'made otherwise' } };
  expect(outcomeOf(await send('make', other))).toEqual([409, 'idempotency_conflict']);
});

test('while the database cannot be asked, a call that wants to run once does not run', async () => {
  expect((await send('known', { node: there })).status).toBe(200);
  await proxy.cut();
  expect(outcomeOf(await send('unknown', { node: there }))).toEqual([503, 'service_unavailable']);
  await proxy.restore();
  expect(await calls()).toBe(1);
});
