import { request as connect } from 'node:http';
import { type Simulator, startSimulator } from '../../support/simulator';
import { startTestApp, type TestApp } from '../../support/app';
import { TestCatalogue } from './test-catalogue';

interface DroppedFieldsResponse {
  readonly status: number;
  readonly head: readonly string[];
  readonly trailer: readonly string[];
  readonly text: string;
  readonly requestId: string;
}

const splitNames = (value: unknown): string[] => (typeof value === 'string' ? value.split(', ') : []);
const lookTool = {
  type: 'function',
  function: { name: 'look', parameters: { type: 'object', properties: {} } },
};
const chatFields = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 };

describe('Dropped request fields', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', SHARED_CONTENT: 'v' } });
    const catalogue = new TestCatalogue(app);
    for (const [name, style] of [
      ['on-chat', 'openai-style'],
      ['on-messages', 'messages-style'],
    ] as const) {
      const kind = style === 'messages-style' ? 'header' : 'bearer';
      const credentials = [{ label: 'test', kind, secret: 'sim-test' } as const];
      await catalogue.provider({ name, style, baseUrl: supplier.url, credentials });
      await catalogue.model(name, [{ provider: name }]);
    }
  });
  afterEach(() => supplier.clearFaults());
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  /** Uses `node:http`, because `fetch` does not expose trailers. */
  const send = (
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<DroppedFieldsResponse> =>
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
        const chunks: Buffer[] = [];
        answer.on('data', (piece: Buffer) => chunks.push(piece));
        answer.on('end', () =>
          resolve({
            status: answer.statusCode!,
            head: splitNames(answer.headers['x-svc-dropped']),
            trailer: splitNames(answer.trailers['x-svc-dropped']),
            text: Buffer.concat(chunks).toString(),
            requestId: String(answer.headers['x-request-id']),
          }),
        );
      });
      call.end(JSON.stringify(body));
    });
  const recordedDrops = async ({
    requestId,
  }: DroppedFieldsResponse): Promise<Record<string, number> | null> =>
    (
      await app.database.query<{ dropped: Record<string, number> | null }>(
        'SELECT dropped FROM request_record WHERE request_id = $1',
        [requestId],
      )
    )[0]!.dropped;

  test('x-svc-dropped is absent when nothing is dropped', async () => {
    const response = await send('/v1/chat/completions', {
      model: 'on-chat',
      ...chatFields,
      metadata: { session_id: 's' },
    });
    expect([response.status, response.head]).toEqual([200, []]);
  });

  // "`x-svc-dropped: region` on every call with `region`, though the region was obeyed".
  test.each([
    ['/v1/chat/completions', 'on-chat'],
    ['/v1/messages', 'on-chat'],
    ['/v1/messages', 'on-messages'],
    ['/v1/chat/completions', 'on-messages'],
  ])('x-svc-dropped does not name a region that was honoured, on %s for %s', async (path, model) => {
    const answer = await send(path, { model, ...chatFields, region: 'eu' });
    expect([answer.status, answer.head]).toEqual([200, []]);
    const supplierRequest = (await supplier.requests()).at(-1);
    expect(supplierRequest?.body).not.toHaveProperty('region');
  });

  test('x-svc-dropped and the record name steering fields on a lane of the same dialect', async () => {
    const steeringFields = [
      'api_base',
      'base_url',
      'fallbacks',
      'models',
      'provider',
      'mock_response',
      'timeout',
    ];
    const fields = Object.fromEntries(steeringFields.map((name) => [name, 'x']));
    const response = await send('/v1/chat/completions', { model: 'on-chat', ...chatFields, ...fields });
    expect([response.status, [...response.head].sort()]).toEqual([200, [...steeringFields].sort()]);
    expect(Object.keys((await recordedDrops(response)) ?? {}).sort()).toEqual([...steeringFields].sort());
  });

  test.each([
    [
      '/v1/chat/completions',
      'on-messages',
      { ...chatFields, seed: 1, logit_bias: {} },
      ['seed', 'logit_bias'],
    ],
    [
      '/v1/messages',
      'on-chat',
      {
        ...chatFields,
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
  ])(
    'x-svc-dropped names what is dropped from %s on %s, streaming or not',
    async (path, model, body, names) => {
      const complete = await send(path, { model, ...body });
      expect([complete.status, [...complete.head].sort()]).toEqual([200, [...names].sort()]);
      const stream = await send(path, { model, ...body, stream: true, stream_options: undefined });
      expect([stream.status, [...stream.head].sort()]).toEqual([200, [...names].sort()]);
      if (path !== '/v1/chat/completions') {
        const [, svc] = /"svc":(\{[^}]*\})/.exec(stream.text)!;
        expect((JSON.parse(svc!) as { dropped: string[] }).dropped).toEqual(expect.arrayContaining(names));
      }
      expect(await recordedDrops(stream)).not.toBeNull();
    },
  );

  test('fields dropped from a response are named in the trailer of a stream', async () => {
    const body = {
      model: 'on-messages',
      messages: chatFields.messages,
      max_tokens: 3_000,
      reasoning_effort: 'low',
    };
    const stream = await send('/v1/chat/completions', { ...body, seed: 1, stream: true });
    expect([stream.head, stream.trailer]).toEqual([['seed'], ['reasoning.signature']]);
    const complete = await send('/v1/chat/completions', { ...body, seed: 1 });
    expect(complete.head).toEqual(['seed', 'reasoning.signature']);
  });

  test('header lists at most 20 sanitised names, and the record has all of them', async () => {
    const fields = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`field "${at}" ${'x'.repeat(100)}`, at]),
    );
    const response = await send('/v1/messages', { model: 'on-chat', ...chatFields, ...fields });
    expect([response.status, response.head.length]).toEqual([200, 20]);
    for (const name of response.head) expect(name).toMatch(/^[\w.-]{1,64}$/);
    expect(Object.keys((await recordedDrops(response)) ?? {})).toHaveLength(60);
  });

  test('x-svc-dropped is sent with the error of the last lane', async () => {
    await supplier.addFault({ fault: { kind: 'status', status: 500 } });
    const response = await send('/v1/chat/completions', { model: 'on-messages', ...chatFields, seed: 1 });
    expect([response.status, response.head]).toEqual([503, ['seed']]);
    expect(await recordedDrops(response)).toEqual({ seed: 1 });
  });

  test('replayed response repeats x-svc-dropped', async () => {
    const idempotencyHeaders = { 'idempotency-key': 'left-out-1' };
    const body = { model: 'on-messages', ...chatFields, seed: 1 };
    expect((await send('/v1/chat/completions', body, idempotencyHeaders)).head).toEqual(['seed']);
    expect((await send('/v1/chat/completions', body, idempotencyHeaders)).head).toEqual(['seed']);
  });

  test('request whose only tool cannot be converted returns 400', async () => {
    const tools = [{ type: 'mcp', server_label: 'x', server_url: 'https://x.example' }];
    const response = await send('/v1/responses', { model: 'on-chat', input: 'Hello', tools });
    expect(response.status).toBe(400);
    expect(response.text).toContain('mcp');
    const supportedRequest = { ...chatFields, model: 'on-chat', tools: [lookTool] };
    expect((await send('/v1/chat/completions', supportedRequest)).head).toEqual([]);
  });
});
