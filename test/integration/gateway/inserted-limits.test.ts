import { startTestApp, type TestApp } from '../../support/app';
import { TestCatalogue } from './test-catalogue';
import { responsesBody } from './responses-body';
import { FixedResponseSupplier } from './fixed-response-supplier';

const functionTool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };

describe('Values that the gateway lowers or inserts', () => {
  let app: TestApp;
  let supplier: FixedResponseSupplier;

  beforeAll(async () => {
    supplier = await FixedResponseSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    for (const [name, style, settings, upstreamModel] of [
      ['on-responses', 'openai-style', { profile: 'openai' }, 'sim-large'],
      ['on-gemini', 'gemini', {}, 'gemini-4-argon'],
    ] as const) {
      const credentials = [{ label: 'one', kind: 'header', secret: 'sim-test' } as const];
      await catalogue.provider({
        name,
        style,
        settings,
        baseUrl: supplier.url,
        regions: ['eu'],
        credentials,
      });
      await catalogue.model(name, [{ provider: name, upstreamModel }]);
    }
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  async function send(path: string, body: object) {
    supplier.requests.length = 0;
    const response = await fetch(`${app.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.text();
    const [record] = await app.database.query<{ dropped: Record<string, number> | null }>(
      'SELECT dropped FROM request_record WHERE request_id = $1',
      [response.headers.get('x-request-id')],
    );
    const { status, headers } = response;
    return { status, named: headers.get('x-svc-dropped'), recorded: record?.dropped };
  }

  const useTools = (tools: object[], rest: object = {}) => {
    supplier.answer = responsesBody([]);
    return send('responses', { model: 'on-responses', input: 'x', max_output_tokens: 50, tools, ...rest });
  };

  // "`max_tool_calls: 5` is inserted for `programmatic_tool_calling` and `tool_search` without being named".
  test.each(['programmatic_tool_calling', 'tool_search'])(
    'x-svc-dropped and the record name max_tool_calls inserted for %s',
    async (type) => {
      const result = await useTools([functionTool, { type }]);
      expect(result).toEqual({ status: 200, named: 'max_tool_calls', recorded: { max_tool_calls: 1 } });
      expect(supplier.requests).toEqual([expect.objectContaining({ max_tool_calls: 5 })]);
    },
  );

  test('x-svc-dropped does not name a limit on tool calls that the caller set', async () => {
    const result = await useTools([{ type: 'tool_search' }], { max_tool_calls: 3 });
    expect(result).toEqual({ status: 200, named: null, recorded: null });
    expect(supplier.requests).toEqual([expect.objectContaining({ max_tool_calls: 3 })]);
  });

  test('no limit is inserted for a tool search that the caller runs', async () => {
    const result = await useTools([functionTool, { type: 'tool_search', execution: 'client' }]);
    expect(result).toEqual({ status: 200, named: null, recorded: null });
    expect(supplier.requests[0]).not.toHaveProperty('max_tool_calls');
  });

  // "Silent in conversion: [...] on Gemini picture `detail`, lowered `effort: max`, `thinking: between_tools`".
  test('x-svc-dropped and the record name what Gemini does not support', async () => {
    supplier.answer = {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 2, totalTokenCount: 11 },
    };
    const result = await send('messages', {
      model: 'on-gemini',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'x' }],
      thinking: { type: 'between_tools' },
      output_config: { effort: 'max' },
    });
    expect(result).toEqual({
      status: 200,
      named: 'thinking.type, output_config.effort.max',
      recorded: { 'thinking.type': 1, 'output_config.effort.max': 1 },
    });
  });
});
