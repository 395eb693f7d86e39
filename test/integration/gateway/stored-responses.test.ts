import { ResponseStore } from '#product/gateway';
import { addCustomer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type DatabaseProxy, startDatabaseProxy } from '../../support/proxy';
import { startSimulator, type Simulator } from '../../support/simulator';
import { TestCatalogue } from './test-catalogue';
import { until } from '../../support/until';

type Json = Record<string, unknown>;
interface OutputItem extends Json {
  readonly id: string;
  readonly type: string;
  readonly call_id?: string;
}
interface ResponseObject extends Json {
  readonly id: string;
  readonly output: readonly OutputItem[];
  readonly error?: Json;
}

const models = ['on-chat', 'on-messages', 'on-responses'];
const modes = ['whole', 'streamed'] as const;
const tools = [
  {
    type: 'function',
    name: 'weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];
const userMessage = (content: string): Json => ({ role: 'user', content });
const toolPrompt = userMessage('Weather? [[tool=weather({"city":"Graz"})]]');

describe('Stored responses', () => {
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
    const catalogue = new TestCatalogue(app);
    const bearer = { label: 'key', secret: 'sim-key', kind: 'bearer' } as const;
    const header = { ...bearer, kind: 'header' } as const;
    const baseUrl = supplier.url;
    await catalogue.provider({ baseUrl, name: 'chatty', style: 'openai-style', credentials: [bearer] });
    await catalogue.provider({ baseUrl, name: 'wordy', style: 'messages-style', credentials: [header] });
    await catalogue.provider({
      baseUrl,
      name: 'modern',
      style: 'openai-style',
      settings: { profile: 'openai' },
      credentials: [bearer],
    });
    await catalogue.model('on-chat', [{ provider: 'chatty' }]);
    await catalogue.model('on-messages', [{ provider: 'wordy' }]);
    await catalogue.model('on-responses', [{ provider: 'modern', upstreamModel: 'sim-reason' }]);
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
  const readResponse = async (response: Response, manner: string): Promise<ResponseObject> => {
    const text = await response.text();
    if (response.status !== 200 || manner === 'whole') return JSON.parse(text) as ResponseObject;
    const line = text.split('\n').find((one) => one.startsWith('data: {"type":"response.completed"'));
    return (JSON.parse(line!.slice('data: '.length)) as { response: ResponseObject }).response;
  };
  const sendRequest = async (manner: string, body: Json, at = app): Promise<ResponseObject> => {
    const response = await send({ ...body, stream: manner === 'streamed' }, undefined, at);
    const answer = await readResponse(response, manner);
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
  const lastSupplierBody = async (): Promise<Json> => {
    const last = (await supplier.requests()).at(-1);
    return (typeof last?.body === 'string' ? JSON.parse(last.body) : last?.body) as Json;
  };

  describe.each(models)('Stored responses on %s', (model) => {
    test.each(modes)(
      'output items can be referenced by id in the next turn of a %s conversation',
      async (manner) => {
        const first = await sendRequest(manner, { model, input: [toolPrompt], tools });
        const call = first.output.find(({ type }) => type === 'function_call')!;
        const references = first.output.map(({ id }) => ({ type: 'item_reference', id }));
        const result = { type: 'function_call_output', call_id: call.call_id, output: 'sunny in Graz' };
        const input = [toolPrompt, ...references, result];
        const answer = await sendRequest(manner, { model, input, tools });
        expect(JSON.stringify(answer.output)).toContain('sunny in Graz');
        const supplierBody = JSON.stringify(await lastSupplierBody());
        expect(supplierBody).not.toContain('item_reference');
        expect(supplierBody).toContain(call.call_id);
        // Immediately afterwards on another node.
        const otherNodeAnswer = await sendRequest(manner, { model, input, tools }, second);
        expect(JSON.stringify(otherNodeAnswer.output)).toContain('sunny in Graz');
      },
    );

    test.each(modes)('conversation continues by previous_response_id, %s', async (manner) => {
      const piratePrompt = { model, instructions: 'Be a pirate.' };
      const first = await sendRequest(manner, {
        ...piratePrompt,
        input: 'Remember 4711. [[echo=Noted: 0815]]',
      });
      const next = await sendRequest(
        manner,
        { model, previous_response_id: first.id, input: 'And? [[echo=Twice]]' },
        second,
      );
      const supplierBody = await lastSupplierBody();
      const text = JSON.stringify(supplierBody);
      expect(text).toMatch(/Remember 4711.*Noted: 0815.*And\?/s);
      expect(text).not.toContain('pirate');
      expect(supplierBody.previous_response_id).toBeUndefined();
      expect([first.store, first.previous_response_id]).toEqual([true, null]);
      expect([next.store, next.previous_response_id]).toEqual([true, first.id]);
      await sendRequest(manner, { model, previous_response_id: next.id, input: [userMessage('Third')] });
      expect(JSON.stringify(await lastSupplierBody())).toMatch(/4711.*0815.*And\?.*Twice.*Third/s);
    });
  });

  test.each(models.flatMap((model) => [true, false].map((store) => [model, store] as const)))(
    'store and previous_response_id are echoed in every event and when read: %s, store %p',
    async (model, store) => {
      const first = await sendRequest('whole', { model, input: 'Hello', store: true });
      const body = { model, input: `And, with store ${store}?`, store, previous_response_id: first.id };
      const echoedFields = { store, previous_response_id: first.id };
      const complete = await sendRequest('whole', body);
      expect(complete).toMatchObject(echoedFields);
      const text = await (await send({ ...body, stream: true })).text();
      const responses = [...text.matchAll(/^data: (.*)$/gm)].flatMap(([, data]) => {
        const { response } = JSON.parse(data!) as { response?: ResponseObject };
        return response === undefined ? [] : [response];
      });
      expect(responses.length).toBeGreaterThan(1);
      for (const response of responses) expect(response).toMatchObject(echoedFields);
      const stored = await lookUp(complete.id);
      expect(stored).toMatchObject(store ? { status: 200, body: echoedFields } : { status: 404 });
    },
  );

  test('supplier with its own store is told not to store and receives no references', async () => {
    const model = 'on-responses';
    const first = await sendRequest('whole', { model, input: [toolPrompt], tools, store: true });
    const [call] = first.output.filter(({ type }) => type === 'function_call');
    const result = { type: 'function_call_output', call_id: call!.call_id, output: 'sunny' };
    await sendRequest('whole', { model, previous_response_id: first.id, input: [result], tools });
    const supplierBody = await lastSupplierBody();
    expect(supplierBody.store).toBe(false);
    expect(
      (supplierBody.input as OutputItem[]).map(({ type, id }) => [type ?? 'message', id ?? null]),
    ).toEqual([
      ['message', null],
      ['function_call', null],
      ['function_call_output', null],
    ]);
  });

  test('store: false stores nothing, and the 404 mentions the 24-hour limit', async () => {
    const { id, output } = await sendRequest('whole', { model: 'on-chat', input: 'Hello', store: false });
    expect(await app.database.query('SELECT FROM kept_response WHERE response_id = $1', [id])).toEqual([]);
    const input = [userMessage('x'), { type: 'item_reference', id: output[0]!.id }];
    expect(await refusal({ model: 'on-chat', input })).toMatchObject({
      status: 404,
      code: 'not_found',
      param: 'input[1].id',
      message: expect.stringContaining('older than 24 hours') as string,
    });
  });

  test('response of another key returns 404', async () => {
    const { id, output } = await sendRequest('whole', { model: 'on-chat', input: 'Hello' });
    const { key } = await addCustomer(app, 'stranger', 1_000_000_000n);
    expect(await refusal({ model: 'on-chat', input: 'x', previous_response_id: id }, key)).toMatchObject({
      status: 404,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    });
    const input = [userMessage('x'), { id: output[0]!.id }];
    expect(await refusal({ model: 'on-chat', input }, key)).toMatchObject({ param: 'input[1].id' });
    for (const method of ['GET', 'DELETE']) {
      const headers = { authorization: `Bearer ${key}` };
      expect((await fetch(`${app.url}/v1/responses/${id}`, { method, headers })).status).toBe(404);
    }
  });

  test('stored response is encrypted and expires after a day', async () => {
    const { id } = await sendRequest('whole', { model: 'on-chat', input: 'Say it [[echo=xylophone]]' });
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

  test('stored response can be read and deleted by id on every node', async () => {
    const { id, output } = await sendRequest('whole', { model: 'on-chat', input: 'Hello' });
    const headers = { authorization: `Bearer ${app.firstKeys?.demo}` };
    const requestOn = (node: TestApp, method: string): Promise<Response> =>
      fetch(`${node.url}/v1/responses/${id}`, { method, headers });
    expect(await (await requestOn(second, 'GET')).json()).toMatchObject({ id, object: 'response', output });
    expect(await (await requestOn(second, 'DELETE')).json()).toEqual({
      id,
      object: 'response',
      deleted: true,
    });
    await until(async () => (await requestOn(app, 'GET')).status === 404);
    expect((await requestOn(app, 'DELETE')).status).toBe(404);
    expect(await refusal({ model: 'on-chat', input: 'x', previous_response_id: id })).toMatchObject({
      status: 404,
    });
  });
});

describe('Response store', () => {
  let supplier: Simulator;
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  const startedNodes: TestApp[] = [];

  beforeAll(async () => {
    supplier = await startSimulator();
    database = await createTestDatabase();
    proxy = await startDatabaseProxy(database.url);
  });
  afterAll(async () => {
    for (const app of startedNodes) await app.close();
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
    startedNodes.push(app);
    return app;
  };
  const createResponse = async (app: TestApp, key: string, body: Json): Promise<ResponseObject> => {
    const response = await fetch(`${app.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', ...body }),
    });
    return (await response.json()) as ResponseObject;
  };

  test('store that is switched off rejects every reference with advice', async () => {
    const app = await start({ RESPONSES_STORE: 'off' });
    const { key } = await addCustomer(app, 'without', 1_000_000_000n);
    const { id, output, store } = await createResponse(app, key, { input: 'Hello' });
    // Issue: "with RESPONSES_STORE=off an answer still reads store: true; it should be false".
    expect(store).toBe(false);
    expect(await createResponse(app, key, { input: 'Hello', store: true })).toMatchObject({ store: false });
    expect(await app.database.query('SELECT FROM kept_response')).toEqual([]);
    for (const [param, reference] of [
      ['previous_response_id', { previous_response_id: id, input: 'x' }],
      ['input[1].id', { input: [userMessage('x'), { type: 'item_reference', id: output[0]!.id }] }],
    ] as const) {
      const { error } = await createResponse(app, key, reference);
      expect(error).toMatchObject({
        type: 'not_found_error',
        param,
        message: expect.stringContaining('store: false') as string,
      });
    }
  });

  test('store enforces its limit per key and evicts the oldest first', async () => {
    const app = await start({ RESPONSES_STORE_KEY_LIMIT: '64KiB', RESPONSES_STORE_ANSWER_LIMIT: '16KiB' });
    const { key, keyId } = await addCustomer(app, 'busy', 1_000_000_000n);
    const otherCustomer = await addCustomer(app, 'calm', 1_000_000_000n);
    const otherAnswer = await createResponse(app, otherCustomer.key, { input: 'I stay' });
    const ids: string[] = [];
    for (let turn = 0; turn < 12; turn += 1) {
      ids.push((await createResponse(app, key, { input: `${turn} ${'x'.repeat(10_000)}` })).id);
    }
    const rows = async (of: number): Promise<string[]> => {
      const responseRows = await app.database.query<{ response_id: string }>(
        'SELECT response_id FROM kept_response WHERE key_id = $1 ORDER BY kept_at',
        [of],
      );
      return responseRows.map(({ response_id: id }) => id);
    };
    await until(async () => (await rows(keyId)).length < 7);
    const remainingIds = await rows(keyId);
    expect(remainingIds).toEqual(ids.slice(-remainingIds.length));
    expect(await rows(otherCustomer.keyId)).toEqual([otherAnswer.id]);
    // Too large to continue, though its items can be referenced.
    const large = await createResponse(app, key, { input: 'y'.repeat(20_000) });
    const next = await createResponse(app, key, { input: 'x', previous_response_id: large.id });
    expect(next.error).toMatchObject({ param: 'previous_response_id' });
    const referencing = await createResponse(app, key, {
      input: [userMessage('x'), { id: large.output[0]!.id }, userMessage('y')],
    });
    expect(referencing.error ?? null).toBeNull();
    const store = app.application.get(ResponseStore, { strict: false });
    await app.database.query('UPDATE kept_response SET expires_at = clock_timestamp() WHERE key_id = $1', [
      keyId,
    ]);
    expect(await store.removeExpired(AbortSignal.timeout(5_000))).toBeGreaterThan(0);
    expect(await rows(keyId)).toEqual([]);
    expect(await rows(otherCustomer.keyId)).toEqual([otherAnswer.id]);
  });

  test('first turn, and the next turn on the same node, work while the database is down', async () => {
    const app = await start({ SETTLE_ACK: 'journal' }, proxy.url);
    const { key } = await addCustomer(app, 'patient', 1_000_000_000n);
    const storedAnswer = await createResponse(app, key, { input: 'Warm' });
    await proxy.cut();
    const first = await createResponse(app, key, { input: 'First [[echo=Noted]]' });
    expect(first.error ?? null).toBeNull();
    const sameNodeAnswer = await createResponse(app, key, {
      input: 'Second',
      previous_response_id: first.id,
    });
    expect(sameNodeAnswer.error ?? null).toBeNull();
    const otherNodeAnswer = await createResponse(app, key, {
      input: 'Third',
      previous_response_id: 'resp_elsewhere',
    });
    expect(otherNodeAnswer.error).toMatchObject({ code: 'service_unavailable' });
    await proxy.restore();
    await until(async () => {
      const { error } = await createResponse(app, key, {
        input: 'Fourth',
        previous_response_id: storedAnswer.id,
      });
      return error === undefined || error === null;
    });
  });
});
