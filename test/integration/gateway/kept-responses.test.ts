import { ResponseStore } from '#product/gateway';
import { addCustomer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Proxy, proxyTo } from '../../support/proxy';
import { startSimulator, type Simulator } from '../../support/simulator';
import { ModelShelf } from './model-shelf';
import { until } from '../../support/until';

type Json = Record<string, unknown>;
interface Item extends Json {
  readonly id: string;
  readonly type: string;
  readonly call_id?: string;
}
interface Answer extends Json {
  readonly id: string;
  readonly output: readonly Item[];
  readonly error?: Json;
}

const models = ['on-chat', 'on-messages', 'on-responses'];
const manners = ['whole', 'streamed'] as const;
const tools = [
  {
    type: 'function',
    name: 'weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];
const say = (content: string): Json => ({ role: 'user', content });
const asksTool = say('Weather? [[tool=weather({"city":"Graz"})]]');

describe('answers of /v1/responses that are kept', () => {
  let app: TestApp;
  let second: TestApp;
  let supplier: Simulator;
  let database: TestDatabase;

  beforeAll(async () => {
    supplier = await startSimulator();
    database = await createTestDatabase();
    const environment = {
      SUPPLIER_ALLOW: '127.0.0.1',
      KEY_PEPPER: 'one pepper for both of the nodes',
      MASTER_KEY: 'one master key for both of the nodes',
    };
    app = await startTestApp({ environment, sharedDatabase: database });
    second = await startTestApp({ environment, sharedDatabase: database });
    const shelf = new ModelShelf(app);
    const bearer = { label: 'key', secret: 'sim-key', kind: 'bearer' } as const;
    const header = { ...bearer, kind: 'header' } as const;
    const baseUrl = supplier.url;
    await shelf.provider({ baseUrl, name: 'chatty', style: 'openai-style', credentials: [bearer] });
    await shelf.provider({ baseUrl, name: 'wordy', style: 'messages-style', credentials: [header] });
    await shelf.provider({
      baseUrl,
      name: 'modern',
      style: 'openai-style',
      settings: { profile: 'openai' },
      credentials: [bearer],
    });
    await shelf.model('on-chat', [{ provider: 'chatty' }]);
    await shelf.model('on-messages', [{ provider: 'wordy' }]);
    await shelf.model('on-responses', [{ provider: 'modern', upstreamModel: 'sim-reason' }]);
  });
  afterAll(async () => {
    await second.close();
    await app.close();
    await supplier.stop();
    await database.drop();
  });
  beforeEach(() => supplier.clearRequests());

  const send = (body: Json, key = app.firstKeys?.demo, at = app): Promise<Response> =>
    fetch(`${at.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const read = async (response: Response, manner: string): Promise<Answer> => {
    const text = await response.text();
    if (response.status !== 200 || manner === 'whole') return JSON.parse(text) as Answer;
    const line = text.split('\n').find((one) => one.startsWith('data: {"type":"response.completed"'));
    return (JSON.parse(line!.slice('data: '.length)) as { response: Answer }).response;
  };
  const ask = async (manner: string, body: Json, at = app): Promise<Answer> => {
    const response = await send({ ...body, stream: manner === 'streamed' }, undefined, at);
    const answer = await read(response, manner);
    expect({ status: response.status, error: answer.error ?? null }).toEqual({ status: 200, error: null });
    return answer;
  };
  const refusal = async (body: Json, key?: string): Promise<Json> => {
    const response = await send(body, key);
    const { error } = (await response.json()) as { error: Json };
    return { status: response.status, code: error.code, param: error.param, message: error.message };
  };
  const lookUp = async (path: string, at = app): Promise<{ status: number; body: Json }> => {
    const headers = { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' };
    const response = await fetch(`${at.url}/v1/responses/${path}`, { headers });
    return { status: response.status, body: (await response.json()) as Json };
  };
  const sentLast = async (): Promise<Json> => {
    const last = (await supplier.requests()).at(-1);
    return (typeof last?.body === 'string' ? JSON.parse(last.body) : last?.body) as Json;
  };

  describe.each(models)('on %s', (model) => {
    test.each(manners)('are named item by item by the next turn of a %s conversation', async (manner) => {
      const first = await ask(manner, { model, input: [asksTool], tools });
      const call = first.output.find(({ type }) => type === 'function_call')!;
      const references = first.output.map(({ id }) => ({ type: 'item_reference', id }));
      const result = { type: 'function_call_output', call_id: call.call_id, output: 'sunny in Graz' };
      const input = [asksTool, ...references, result];
      const answer = await ask(manner, { model, input, tools });
      expect(JSON.stringify(answer.output)).toContain('sunny in Graz');
      const sent = JSON.stringify(await sentLast());
      expect(sent).not.toContain('item_reference');
      expect(sent).toContain(call.call_id);
      // Right after it, on another node.
      const elsewhere = await ask(manner, { model, input, tools }, second);
      expect(JSON.stringify(elsewhere.output)).toContain('sunny in Graz');
    });

    test.each(manners)('are gone on from by previous_response_id, %s', async (manner) => {
      const words = { model, instructions: 'Be a pirate.' };
      const first = await ask(manner, { ...words, input: 'Remember 4711. [[echo=Noted: 0815]]' });
      const next = await ask(
        manner,
        { model, previous_response_id: first.id, input: 'And? [[echo=Twice]]' },
        second,
      );
      const sent = await sentLast();
      const text = JSON.stringify(sent);
      expect(text).toMatch(/Remember 4711.*Noted: 0815.*And\?/s);
      expect(text).not.toContain('pirate');
      expect(sent.previous_response_id).toBeUndefined();
      expect([first.store, first.previous_response_id]).toEqual([true, null]);
      expect([next.store, next.previous_response_id]).toEqual([true, first.id]);
      await ask(manner, { model, previous_response_id: next.id, input: [say('Third')] });
      expect(JSON.stringify(await sentLast())).toMatch(/4711.*0815.*And\?.*Twice.*Third/s);
    });
  });

  test.each(models.flatMap((model) => [true, false].map((store) => [model, store] as const)))(
    'say what was asked of them, in every event and when they are read again: %s, store %p',
    async (model, store) => {
      const first = await ask('whole', { model, input: 'Hello', store: true });
      const body = { model, input: `And, with store ${store}?`, store, previous_response_id: first.id };
      const said = { store, previous_response_id: first.id };
      const whole = await ask('whole', body);
      expect(whole).toMatchObject(said);
      const text = await (await send({ ...body, stream: true })).text();
      const responses = [...text.matchAll(/^data: (.*)$/gm)].flatMap(([, data]) => {
        const { response } = JSON.parse(data!) as { response?: Answer };
        return response === undefined ? [] : [response];
      });
      expect(responses.length).toBeGreaterThan(1);
      for (const response of responses) expect(response).toMatchObject(said);
      const again = await lookUp(whole.id);
      expect(again).toMatchObject(store ? { status: 200, body: said } : { status: 404 });
    },
  );

  test('a supplier that could keep them is not asked to, and looks nothing up', async () => {
    const model = 'on-responses';
    const first = await ask('whole', { model, input: [asksTool], tools, store: true });
    const [call] = first.output.filter(({ type }) => type === 'function_call');
    const result = { type: 'function_call_output', call_id: call!.call_id, output: 'sunny' };
    await ask('whole', { model, previous_response_id: first.id, input: [result], tools });
    const sent = await sentLast();
    expect(sent.store).toBe(false);
    expect((sent.input as Item[]).map(({ type, id }) => [type ?? 'message', id ?? null])).toEqual([
      ['message', null],
      ['function_call', null],
      ['function_call_output', null],
    ]);
  });

  test('with store: false nothing is kept, and neither is the word of it', async () => {
    const { id, output } = await ask('whole', { model: 'on-chat', input: 'Hello', store: false });
    expect(await app.database.query('SELECT FROM kept_response WHERE response_id = $1', [id])).toEqual([]);
    const input = [say('x'), { type: 'item_reference', id: output[0]!.id }];
    expect(await refusal({ model: 'on-chat', input })).toMatchObject({
      status: 404,
      code: 'not_found',
      param: 'input[1].id',
      message: expect.stringContaining('older than 24 hours') as string,
    });
  });

  test("another key's answers are not there", async () => {
    const { id, output } = await ask('whole', { model: 'on-chat', input: 'Hello' });
    const { key } = await addCustomer(app, 'stranger', 1_000_000_000n);
    expect(await refusal({ model: 'on-chat', input: 'x', previous_response_id: id }, key)).toMatchObject({
      status: 404,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    });
    const input = [say('x'), { id: output[0]!.id }];
    expect(await refusal({ model: 'on-chat', input }, key)).toMatchObject({ param: 'input[1].id' });
    for (const method of ['GET', 'DELETE']) {
      const headers = { authorization: `Bearer ${key}` };
      expect((await fetch(`${app.url}/v1/responses/${id}`, { method, headers })).status).toBe(404);
    }
  });

  test('are not readable in the database, and go after a day', async () => {
    const { id } = await ask('whole', { model: 'on-chat', input: 'Say it [[echo=xylophone]]' });
    const [row] = await app.database.query<{ row: string }>(
      `SELECT encode(answer, 'escape') || encode(input, 'escape') AS row FROM kept_response WHERE response_id = $1`,
      [id],
    );
    expect(row?.row).not.toContain('xylophone');
    await app.database.query(
      'UPDATE kept_response SET expires_at = clock_timestamp() WHERE response_id = $1',
      [id],
    );
    const response = await send(
      { model: 'on-chat', input: 'x', previous_response_id: id },
      undefined,
      second,
    );
    expect(response.status).toBe(404);
  });

  test('are read and deleted by their id, on every node', async () => {
    const { id, output } = await ask('whole', { model: 'on-chat', input: 'Hello' });
    const headers = { authorization: `Bearer ${app.firstKeys?.demo}` };
    const at = (node: TestApp, method: string): Promise<Response> =>
      fetch(`${node.url}/v1/responses/${id}`, { method, headers });
    expect(await (await at(second, 'GET')).json()).toMatchObject({ id, object: 'response', output });
    expect(await (await at(second, 'DELETE')).json()).toEqual({ id, object: 'response', deleted: true });
    await until(async () => (await at(app, 'GET')).status === 404);
    expect((await at(app, 'DELETE')).status).toBe(404);
    expect(await refusal({ model: 'on-chat', input: 'x', previous_response_id: id })).toMatchObject({
      status: 404,
    });
  });
});

describe('the store of answers', () => {
  let supplier: Simulator;
  let database: TestDatabase;
  let proxy: Proxy;
  const started: TestApp[] = [];

  beforeAll(async () => {
    supplier = await startSimulator();
    database = await createTestDatabase();
    proxy = await proxyTo(database.url);
  });
  afterAll(async () => {
    for (const app of started) await app.close();
    await proxy.close();
    await supplier.stop();
    await database.drop();
  });

  const secrets = {
    KEY_PEPPER: 'one pepper for all of the nodes',
    MASTER_KEY: 'one master key for all of them',
  };
  const start = async (environment: Record<string, string>, url = database.url): Promise<TestApp> => {
    const app = await startTestApp({
      environment: { ...secrets, ...environment },
      sandboxUrl: supplier.url,
      sharedDatabase: { ...database, url },
    });
    started.push(app);
    return app;
  };
  const ask = async (app: TestApp, key: string, body: Json): Promise<Answer> => {
    const response = await fetch(`${app.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', ...body }),
    });
    return (await response.json()) as Answer;
  };

  test('switched off, refuses every reference and says what to tell the client', async () => {
    const app = await start({ RESPONSES_STORE: 'off' });
    const { key } = await addCustomer(app, 'without', 1_000_000_000n);
    const { id, output, store } = await ask(app, key, { input: 'Hello' });
    // Issue: "with RESPONSES_STORE=off an answer still reads store: true; it should be false".
    expect(store).toBe(false);
    expect(await ask(app, key, { input: 'Hello', store: true })).toMatchObject({ store: false });
    expect(await app.database.query('SELECT FROM kept_response')).toEqual([]);
    for (const [param, reference] of [
      ['previous_response_id', { previous_response_id: id, input: 'x' }],
      ['input[1].id', { input: [say('x'), { type: 'item_reference', id: output[0]!.id }] }],
    ] as const) {
      const { error } = await ask(app, key, reference);
      expect(error).toMatchObject({
        type: 'not_found_error',
        param,
        message: expect.stringContaining('store: false') as string,
      });
    }
  });

  test('keeps so much for a key and no more, the oldest going first', async () => {
    const app = await start({ RESPONSES_STORE_KEY_LIMIT: '64KiB', RESPONSES_STORE_ANSWER_LIMIT: '16KiB' });
    const { key, keyId } = await addCustomer(app, 'busy', 1_000_000_000n);
    const other = await addCustomer(app, 'calm', 1_000_000_000n);
    const kept = await ask(app, other.key, { input: 'I stay' });
    const ids: string[] = [];
    for (let turn = 0; turn < 12; turn += 1) {
      ids.push((await ask(app, key, { input: `${turn} ${'x'.repeat(10_000)}` })).id);
    }
    const rows = async (of: number): Promise<string[]> => {
      const found = await app.database.query<{ response_id: string }>(
        'SELECT response_id FROM kept_response WHERE key_id = $1 ORDER BY kept_at',
        [of],
      );
      return found.map(({ response_id: id }) => id);
    };
    await until(async () => (await rows(keyId)).length < 7);
    const left = await rows(keyId);
    expect(left).toEqual(ids.slice(-left.length));
    expect(await rows(other.keyId)).toEqual([kept.id]);
    // Too much to be gone on from; its items can be named all the same.
    const large = await ask(app, key, { input: 'y'.repeat(20_000) });
    const next = await ask(app, key, { input: 'x', previous_response_id: large.id });
    expect(next.error).toMatchObject({ param: 'previous_response_id' });
    const named = await ask(app, key, { input: [say('x'), { id: large.output[0]!.id }, say('y')] });
    expect(named.error ?? null).toBeNull();
    const store = app.application.get(ResponseStore, { strict: false });
    await app.database.query('UPDATE kept_response SET expires_at = clock_timestamp() WHERE key_id = $1', [
      keyId,
    ]);
    expect(await store.removeExpired(AbortSignal.timeout(5_000))).toBeGreaterThan(0);
    expect(await rows(keyId)).toEqual([]);
    expect(await rows(other.keyId)).toEqual([kept.id]);
  });

  test('is not missed by a first turn, nor by the next one on the same node, while the database is away', async () => {
    const app = await start({ SETTLE_ACK: 'journal' }, proxy.url);
    const { key } = await addCustomer(app, 'patient', 1_000_000_000n);
    const stored = await ask(app, key, { input: 'Warm' });
    await proxy.cut();
    const first = await ask(app, key, { input: 'First [[echo=Noted]]' });
    expect(first.error ?? null).toBeNull();
    const near = await ask(app, key, { input: 'Second', previous_response_id: first.id });
    expect(near.error ?? null).toBeNull();
    const far = await ask(app, key, { input: 'Third', previous_response_id: 'resp_elsewhere' });
    expect(far.error).toMatchObject({ code: 'service_unavailable' });
    await proxy.restore();
    await until(async () => {
      const { error } = await ask(app, key, { input: 'Fourth', previous_response_id: stored.id });
      return error === undefined || error === null;
    });
  });
});
