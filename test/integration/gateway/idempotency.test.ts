import { createHash } from 'node:crypto';
import { Lifecycle } from '#product/gateway';
import { startTestApp, type TestApp } from '../../support/app';
import { administer, createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type DatabaseProxy, startDatabaseProxy } from '../../support/proxy';
import { startSimulator, type Simulator } from '../../support/simulator';
import { call as ask } from '../keys/http';
import {
  type IdempotentResponse,
  isReplay,
  outcomeOf,
  replayHeaders,
  svcHeaders,
} from './idempotent-response';

let supplier: Simulator;
let database: TestDatabase;
let proxy: DatabaseProxy;
let ownNode: TestApp;
let otherNode: TestApp;
let root: string;
let key: string;

beforeAll(async () => {
  supplier = await startSimulator();
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  const options = {
    sandboxUrl: supplier.url,
    environment: {
      KEY_PEPPER: 'pepper of both nodes',
      MASTER_KEY: 'master key of both nodes',
      IDEMPOTENT_ANSWER_LIMIT: '64KiB',
      // Limits the wait for a silent supplier.
      SUPPLIER_FIRST_BYTE_TIMEOUT: '5s',
    },
  };
  ownNode = await startTestApp({ ...options, sharedDatabase: database });
  otherNode = await startTestApp({ ...options, sharedDatabase: { ...database, url: proxy.url } });
  root = ownNode.firstKeys?.root ?? '';
});
afterAll(async () => {
  await ownNode.close();
  await otherNode.close();
  await proxy.close();
  await supplier.stop();
  await database.drop();
});
beforeEach(async () => {
  key = await createKey();
  await supplier.clearRequests();
});
afterEach(() => supplier.clearFaults());

const createKey = async (): Promise<string> => {
  const createResponse = await ask<{ key: string }>(ownNode, root, 'POST', '/v1/manage/keys', {
    name: 'one',
    budget_limit: 100,
  });
  return createResponse.body.key;
};

interface IdempotentRequest {
  readonly node?: TestApp;
  readonly apiKey?: string;
  readonly path?: string;
  readonly body?: object;
  readonly signal?: AbortSignal;
}

const conversation = {
  model: 'sim-small',
  messages: [{ role: 'user', content: 'A secret question [[tokens=12]]' }],
};

async function send(
  idempotencyKey: string | null,
  options: IdempotentRequest = {},
): Promise<IdempotentResponse> {
  const { node = ownNode, apiKey = key, path = '/v1/chat/completions', body = conversation } = options;
  const answer = await fetch(node.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
    signal: options.signal ?? AbortSignal.timeout(25_000),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const code =
    answer.status < 300
      ? undefined
      : (JSON.parse(bytes.toString()) as { error: { code: string } }).error.code;
  return { status: answer.status, headers: answer.headers, bytes, code };
}

const calls = async (): Promise<number> => (await supplier.requests()).length;

/** Total charge and number of successful requests of the key. Failures are recorded too, at no cost. */
async function chargesOfKey(): Promise<{ dollars: number; records: number }> {
  const { body } = await ask<{ id: string; budget_used: number }>(ownNode, key, 'GET', '/v1/key');
  const [row] = await ownNode.database.query<{ records: number; nano: string }>(
    `SELECT count(*) FILTER (WHERE code IS NULL)::integer AS records, coalesce(sum(cost_nano), 0) AS nano FROM request_record
      WHERE key_id = (SELECT id FROM api_key WHERE public_id = $1)`,
    [body.id],
  );
  expect(body.budget_used).toBe(Number(row?.nano) / 1e9);
  return { dollars: body.budget_used, records: row?.records ?? 0 };
}

const rows = (change: string): Promise<unknown> =>
  ownNode.database.query(`UPDATE idempotent_answer SET ${change}`);
const expireLeases = (): Promise<unknown> => rows(`leased_until = now() - interval '1 second'`);

describe('Repeated request', () => {
  test('repeat is answered byte for byte by any node, and neither executed nor charged again', async () => {
    const first = await send('one');
    expect(first.status).toBe(200);
    expect(isReplay(first)).toBe(false);
    const charges = await chargesOfKey();
    expect(charges).toMatchObject({ records: 1 });
    expect(charges.dollars).toBeGreaterThan(0);
    for (const node of [ownNode, otherNode]) {
      const replay = await send('one', { node });
      expect(replay.status).toBe(200);
      expect(replay.bytes.equals(first.bytes)).toBe(true);
      expect(svcHeaders(replay)).toEqual(replayHeaders(first));
      expect(Object.keys(svcHeaders(replay)).length).toBeGreaterThan(6);
      expect(replay.headers.get('x-request-id')).toBe(first.headers.get('x-request-id'));
      expect(isReplay(replay)).toBe(true);
    }
    expect(await calls()).toBe(1);
    expect(await chargesOfKey()).toEqual(charges);
  });

  test.each([
    ['/v1/messages', { ...conversation, max_tokens: 50 }],
    ['/v1/audio/speech', { model: 'sim-speech', input: 'Hello there', response_format: 'wav' }],
    ['/v1/embeddings', { model: 'sim-embed', input: 'one' }],
  ])('repeat is replayed on %s too', async (path, body) => {
    const [first, again] = [await send('two', { path, body }), await send('two', { path, body })];
    expect(first.status).toBe(200);
    expect(again.bytes.equals(first.bytes)).toBe(true);
    expect(svcHeaders(again)).toEqual(replayHeaders(first));
    expect(isReplay(again)).toBe(true);
    expect(await calls()).toBe(1);
  });

  test('twenty concurrent requests on two nodes run once, and the others get operation_in_progress', async () => {
    await supplier.addFault({ fault: { kind: 'delay', ms: 700 } });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => send('at-once', { node: at % 2 === 0 ? ownNode : otherNode })),
    );
    const successes = answers.filter(({ status }) => status === 200);
    const conflicts = answers.filter(({ status }) => status === 409);
    expect([successes.filter((it) => !isReplay(it)).length, successes.length + conflicts.length]).toEqual([
      1, 20,
    ]);
    expect(conflicts.length).toBeGreaterThan(0);
    for (const answer of conflicts) {
      expect(answer.code).toBe('operation_in_progress');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    const replays = await Promise.all(Array.from({ length: 20 }, () => send('at-once')));
    expect(replays.every((it) => isReplay(it) && it.bytes.equals(successes[0]!.bytes))).toBe(true);
    expect(await calls()).toBe(1);
    expect(await chargesOfKey()).toMatchObject({ records: 1 });
  });

  test('repeat with another body or on another route returns 409 idempotency_conflict', async () => {
    await send('three', { body: { ...conversation, max_tokens: 20 } });
    const bodies = [conversation, { ...conversation, max_tokens: 21 }];
    for (const body of bodies)
      expect(outcomeOf(await send('three', { body }))).toEqual([409, 'idempotency_conflict']);
    const otherRoute = { path: '/v1/messages', body: { ...conversation, max_tokens: 20 } };
    expect(outcomeOf(await send('three', otherRoute))).toEqual([409, 'idempotency_conflict']);
    expect(await calls()).toBe(1);
  });

  test('idempotency keys are separate per API key, and a revoked key replays nothing', async () => {
    const first = await send('four');
    const otherKey = await createKey();
    const otherResponse = await send('four', { apiKey: otherKey });
    expect([otherResponse.status, isReplay(otherResponse)]).toEqual([200, false]);
    expect(otherResponse.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(await calls()).toBe(2);
    const { id } = (await ask<{ id: string }>(ownNode, otherKey, 'GET', '/v1/key')).body;
    await ask(ownNode, root, 'DELETE', `/v1/manage/keys/${id}`);
    expect((await send('four', { apiKey: otherKey })).status).toBe(401);
  });

  test('repeat after a failure is executed, and replayed from then on', async () => {
    await supplier.addFault({ fault: { kind: 'status', status: 400 } });
    expect((await send('five')).status).toBe(400);
    await supplier.clearFaults();
    const second = await send('five');
    expect([second.status, isReplay(second)]).toEqual([200, false]);
    expect(isReplay(await send('five'))).toBe(true);
    expect(await calls()).toBe(2);
    expect(await chargesOfKey()).toMatchObject({ records: 1 });
  });

  test('streaming request runs every time', async () => {
    const body = { ...conversation, stream: true };
    for (const _ of [1, 2]) expect((await send('six', { body })).bytes.toString()).toContain('[DONE]');
    expect(await calls()).toBe(2);
  });
});

describe('Idempotency key', () => {
  test.each([
    ['empty', ''],
    ['with a blank', 'a b'],
    ['of 256 characters', 'k'.repeat(256)],
    ['beyond ASCII', 'clé'],
  ])('key %s is rejected before anything is done', async (_name, bad) => {
    const answer = await send(bad);
    expect(outcomeOf(answer)).toEqual([400, 'invalid_idempotency_key']);
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({ error: { param: 'Idempotency-Key' } });
    expect(await calls()).toBe(0);
  });

  test('key of 255 characters is accepted, and a request without a key stores nothing', async () => {
    const claimsBefore = await ownNode.database.query('SELECT claim FROM idempotent_answer');
    expect((await send(null)).status).toBe(200);
    expect(await ownNode.database.query('SELECT claim FROM idempotent_answer')).toEqual(claimsBefore);
    expect((await send('~'.repeat(255))).status).toBe(200);
    expect(isReplay(await send('~'.repeat(255)))).toBe(true);
  });
});

describe('Lost request', () => {
  test('request is taken over once its lease ends, and the late original changes nothing', async () => {
    await supplier.addFault({ fault: { kind: 'hang' }, times: 1 });
    const lostRequest = send('seven');
    await supplier.waitForRequests(1);
    expect(outcomeOf(await send('seven', { node: otherNode }))).toEqual([409, 'operation_in_progress']);
    await expireLeases();
    const second = await send('seven', { node: otherNode });
    expect([second.status, isReplay(second)]).toEqual([200, false]);
    expect(outcomeOf(await lostRequest)).toEqual([504, 'upstream_timeout']);
    const third = await send('seven');
    expect(isReplay(third) && third.bytes.equals(second.bytes)).toBe(true);
    expect(await chargesOfKey()).toMatchObject({ records: 1 });
  });

  test('request whose client timed out continues and is charged once', async () => {
    await supplier.addFault({ fault: { kind: 'delay', ms: 2_500 }, times: 1 });
    const controller = new AbortController();
    const abandonedRequest = send('eight', { signal: controller.signal });
    await supplier.waitForRequests(1);
    controller.abort();
    await expect(abandonedRequest).rejects.toThrow();
    expect(outcomeOf(await send('eight', { node: otherNode }))).toEqual([409, 'operation_in_progress']);
    await ownNode.application.get(Lifecycle).waitUntilIdle(20_000);
    const replay = await send('eight', { node: otherNode });
    expect([replay.status, isReplay(replay)]).toEqual([200, true]);
    expect(await calls()).toBe(1);
    expect(await chargesOfKey()).toMatchObject({ records: 1 });
    expect(ownNode.log.join()).toContain('caller left');
  });

  test('request whose client left and that then fails is free and can be repeated', async () => {
    await supplier.addFault({ fault: { kind: 'hang' }, times: 1 });
    const controller = new AbortController();
    const abandonedRequest = send('nobody', { signal: controller.signal });
    await supplier.waitForRequests(1);
    controller.abort();
    await expect(abandonedRequest).rejects.toThrow();
    await ownNode.application.get(Lifecycle).waitUntilIdle(20_000);
    expect(await chargesOfKey()).toEqual({ dollars: 0, records: 0 });
    expect(outcomeOf(await send('nobody'))).toEqual([200, undefined]);
    expect(await chargesOfKey()).toMatchObject({ records: 1 });
  });

  test('request that was charged but not stored is not charged again', async () => {
    const rejectStorage = `CREATE FUNCTION unkeep() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'the disk is full'; END $$;
      CREATE TRIGGER unkeep BEFORE UPDATE ON idempotent_answer FOR EACH ROW
      WHEN (new.state = 'answered') EXECUTE FUNCTION unkeep()`;
    await administer(database.ownerUrl, rejectStorage);
    const first = await send('nine');
    await administer(database.ownerUrl, 'DROP FUNCTION unkeep() CASCADE');
    expect(first.status).toBe(200);
    // Nest's logger is shared by two nodes in one process.
    expect([...ownNode.log, ...otherNode.log].join()).toContain('the disk is full');
    expect(outcomeOf(await send('nine'))).toEqual([409, 'operation_in_progress']);
    await expireLeases();
    for (const node of [ownNode, otherNode]) {
      const repeat = await send('nine', { node });
      expect(outcomeOf(repeat)).toEqual([409, 'idempotency_conflict']);
      expect(JSON.parse(repeat.bytes.toString())).toMatchObject({
        error: { details: { first_request_id: first.headers.get('x-request-id') } },
      });
    }
    expect(await calls()).toBe(1);
    expect(await chargesOfKey()).toMatchObject({ records: 1 });
  });
});

describe('Stored answers', () => {
  test('stored answer expires after a day', async () => {
    const first = await send('ten');
    const [row] = await ownNode.database.query<{ hours: number }>(
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

  test('stored answer reveals neither prompt nor response to readers of the table', async () => {
    const first = await send('a-key-of-mine');
    const dump = Buffer.from(JSON.stringify(await ownNode.database.query('SELECT * FROM idempotent_answer')));
    const raw = await ownNode.database.query<{ text: string }>(
      'SELECT r::text AS text FROM idempotent_answer r',
    );
    const rowText = raw.map(({ text }) => text).join('\n');
    const { choices } = JSON.parse(first.bytes.toString()) as { choices: { message: { content: string } }[] };
    const body = JSON.stringify(conversation);
    const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
    const secrets = ['A secret question', choices[0]!.message.content, 'a-key-of-mine', 'x-svc', 'sim-small'];
    for (const secret of secrets) {
      expect(dump.includes(secret)).toBe(false);
      expect(rowText).not.toContain(Buffer.from(secret).toString('hex'));
    }
    for (const guess of [body, 'a-key-of-mine']) expect(rowText).not.toContain(sha(guess));
    expect(rowText).toContain(first.headers.get('x-request-id'));
  });

  test('stored answer opens for its own request only', async () => {
    const otherKey = await createKey();
    await send('eleven');
    await send('eleven', { apiKey: otherKey });
    // Simulates an attacker with write access who swaps the answers of two customers.
    await ownNode.database.query(
      `UPDATE idempotent_answer a SET ciphertext = b.ciphertext, nonce = b.nonce, wrapped_key = b.wrapped_key
         FROM idempotent_answer b WHERE a.claim <> b.claim AND (a.state, b.state) = ('answered', 'answered')`,
    );
    expect(outcomeOf(await send('eleven'))).toEqual([409, 'idempotency_conflict']);
  });

  test('answer above the maximum size is not stored, but its request still runs only once', async () => {
    const body = { ...conversation, messages: [{ role: 'user', content: 'x [[tokens=30000]]' }] };
    const first = await send('twelve', { body });
    expect(first.bytes.length).toBeGreaterThan(65_536);
    expect(first.status).toBe(200);
    expect(outcomeOf(await send('twelve', { body }))).toEqual([409, 'idempotency_conflict']);
    expect(await calls()).toBe(1);
  });
});

test('key creation under one idempotency key creates one key and stores its secret encrypted', async () => {
  const createRequest = { apiKey: root, path: '/v1/manage/keys', body: { name: 'made once' } };
  const [first, again] = [
    await send('make', createRequest),
    await send('make', { ...createRequest, node: otherNode }),
  ];
  expect(first.status).toBe(200);
  expect(again.bytes.equals(first.bytes)).toBe(true);
  expect([isReplay(first), isReplay(again)]).toEqual([false, true]);
  const { key: secret } = JSON.parse(first.bytes.toString()) as { key: string };
  expect((await send(null, { apiKey: secret })).status).toBe(200);
  const [made] = await ownNode.database.query<{ count: number }>(
    "SELECT count(*)::integer AS count FROM api_key WHERE name = 'made once'",
  );
  expect(made?.count).toBe(1);
  const storedRows = await ownNode.database.query<{ text: string }>(
    'SELECT r::text AS text FROM idempotent_answer r',
  );
  expect(storedRows.map(({ text }) => text).join()).not.toContain(Buffer.from(secret).toString('hex'));
  const otherRequest = { ...createRequest, body: { name: 'made otherwise' } };
  expect(outcomeOf(await send('make', otherRequest))).toEqual([409, 'idempotency_conflict']);
});

test('request with an idempotency key does not run while the database is down', async () => {
  expect((await send('known', { node: otherNode })).status).toBe(200);
  await proxy.cut();
  expect(outcomeOf(await send('unknown', { node: otherNode }))).toEqual([503, 'service_unavailable']);
  await proxy.restore();
  expect(await calls()).toBe(1);
});
