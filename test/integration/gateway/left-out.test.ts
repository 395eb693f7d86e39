import { request as connect } from 'node:http';
import { type Simulator, startSimulator } from '../../support/simulator';
import { startTestApp, type TestApp } from '../../support/app';
import { ModelShelf } from './model-shelf';

interface Told {
  readonly status: number;
  readonly head: readonly string[];
  readonly trailer: readonly string[];
  readonly text: string;
  readonly requestId: string;
}

const named = (value: unknown): string[] => (typeof value === 'string' ? value.split(', ') : []);
const look = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } };
const ask = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 };

describe('what a request is answered without is told', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', SHARED_CONTENT: 'v' } });
    const shelf = new ModelShelf(app);
    for (const [name, style] of [
      ['on-chat', 'openai-style'],
      ['on-messages', 'messages-style'],
    ] as const) {
      const kind = style === 'messages-style' ? 'header' : 'bearer';
      const credentials = [{ label: 'test', kind, secret: 'sim-test' } as const];
      await shelf.provider({ name, style, baseUrl: supplier.url, credentials });
      await shelf.model(name, [{ provider: name }]);
    }
  });
  afterEach(() => supplier.clearFaults());
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  /** `fetch` shows no trailers. */
  const send = (path: string, body: object, headers: Record<string, string> = {}): Promise<Told> =>
    new Promise((resolve, reject) => {
      const call = connect(`${app.url}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${app.firstKeys?.demo}`,
          'content-type': 'application/json',
          ...headers,
        },
      });
      call.on('error', reject);
      call.on('response', (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('end', () =>
          resolve({
            status: answer.statusCode!,
            head: named(answer.headers['x-svc-dropped']),
            trailer: named(answer.trailers['x-svc-dropped']),
            text: Buffer.concat(pieces).toString(),
            requestId: String(answer.headers['x-request-id']),
          }),
        );
      });
      call.end(JSON.stringify(body));
    });
  const recorded = async ({ requestId }: Told): Promise<Record<string, number> | null> =>
    (
      await app.database.query<{ dropped: Record<string, number> | null }>(
        'SELECT dropped FROM request_record WHERE request_id = $1',
        [requestId],
      )
    )[0]!.dropped;

  test('nothing, where nothing is left out', async () => {
    const told = await send('/v1/chat/completions', {
      model: 'on-chat',
      ...ask,
      metadata: { session_id: 's' },
    });
    expect([told.status, told.head]).toEqual([200, []]);
  });

  // "`x-svc-dropped: region` on every call with `region`, though the region was obeyed".
  test.each([
    ['/v1/chat/completions', 'on-chat'],
    ['/v1/messages', 'on-chat'],
    ['/v1/messages', 'on-messages'],
    ['/v1/chat/completions', 'on-messages'],
  ])('x-svc-dropped lacks a region that was obeyed, on %s for %s', async (path, model) => {
    const answer = await send(path, { model, ...ask, region: 'eu' });
    expect([answer.status, answer.head]).toEqual([200, []]);
    const sent = (await supplier.requests()).at(-1);
    expect(sent?.body).not.toHaveProperty('region');
  });

  test('fields that steer, on a lane of the same dialect', async () => {
    const steering = ['api_base', 'base_url', 'fallbacks', 'models', 'provider', 'mock_response', 'timeout'];
    const fields = Object.fromEntries(steering.map((name) => [name, 'x']));
    const told = await send('/v1/chat/completions', { model: 'on-chat', ...ask, ...fields });
    expect([told.status, [...told.head].sort()]).toEqual([200, [...steering].sort()]);
    expect(Object.keys((await recorded(told)) ?? {}).sort()).toEqual([...steering].sort());
  });

  test.each([
    ['/v1/chat/completions', 'on-messages', { ...ask, seed: 1, logit_bias: {} }, ['seed', 'logit_bias']],
    [
      '/v1/messages',
      'on-chat',
      {
        ...ask,
        top_k: 5,
        tools: [
          { name: 'look', input_schema: { type: 'object', properties: {} } },
          { type: 'web_search_20250305', name: 'web_search' },
        ],
      },
      ['top_k', 'tools.web_search_20250305'],
    ],
    [
      '/v1/responses',
      'on-chat',
      {
        input: 'Hello',
        tools: [
          { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } },
          { type: 'mcp', server_label: 'x', server_url: 'https://x.example' },
          { type: 'web_search' },
          { type: 'file_search', vector_store_ids: ['v'] },
          { type: 'code_interpreter', container: { type: 'auto' } },
        ],
      },
      ['tools.mcp', 'tools.web_search', 'tools.file_search', 'tools.code_interpreter'],
    ],
  ])('%s on %s', async (path, model, body, names) => {
    const whole = await send(path, { model, ...body });
    expect([whole.status, [...whole.head].sort()]).toEqual([200, [...names].sort()]);
    const stream = await send(path, { model, ...body, stream: true, stream_options: undefined });
    expect([stream.status, [...stream.head].sort()]).toEqual([200, [...names].sort()]);
    if (path !== '/v1/chat/completions') {
      const [, svc] = /"svc":(\{[^}]*\})/.exec(stream.text)!;
      expect((JSON.parse(svc!) as { dropped: string[] }).dropped).toEqual(expect.arrayContaining(names));
    }
    expect(await recorded(stream)).not.toBeNull();
  });

  test('what an answer loses on its way is in the trailer of a stream', async () => {
    const body = { model: 'on-messages', messages: ask.messages, max_tokens: 3_000, reasoning_effort: 'low' };
    const stream = await send('/v1/chat/completions', { ...body, seed: 1, stream: true });
    expect([stream.head, stream.trailer]).toEqual([['seed'], ['reasoning.signature']]);
    const whole = await send('/v1/chat/completions', { ...body, seed: 1 });
    expect(whole.head).toEqual(['seed', 'reasoning.signature']);
  });

  test('names are safe, short and few, and the record has them all', async () => {
    const fields = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`field "${at}" ${'x'.repeat(100)}`, at]),
    );
    const told = await send('/v1/messages', { model: 'on-chat', ...ask, ...fields });
    expect([told.status, told.head.length]).toEqual([200, 20]);
    for (const name of told.head) expect(name).toMatch(/^[\w.-]{1,64}$/);
    expect(Object.keys((await recorded(told)) ?? {})).toHaveLength(60);
  });

  test('on an error of the last lane that was tried', async () => {
    await supplier.addFault({ fault: { kind: 'status', status: 500 } });
    const told = await send('/v1/chat/completions', { model: 'on-messages', ...ask, seed: 1 });
    expect([told.status, told.head]).toEqual([503, ['seed']]);
    expect(await recorded(told)).toEqual({ seed: 1 });
  });

  test('a repeated answer repeats it', async () => {
    const once = { 'idempotency-key': 'left-out-1' };
    const body = { model: 'on-messages', ...ask, seed: 1 };
    expect((await send('/v1/chat/completions', body, once)).head).toEqual(['seed']);
    expect((await send('/v1/chat/completions', body, once)).head).toEqual(['seed']);
  });

  test('a request for a single tool is refused where that tool cannot be offered', async () => {
    const tools = [{ type: 'mcp', server_label: 'x', server_url: 'https://x.example' }];
    const told = await send('/v1/responses', { model: 'on-chat', input: 'Hello', tools });
    expect(told.status).toBe(400);
    expect(told.text).toContain('mcp');
    const kept = { ...ask, model: 'on-chat', tools: [look] };
    expect((await send('/v1/chat/completions', kept)).head).toEqual([]);
  });
});
