import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { parseUsd, parseUsdPerMillion, readJsonText } from '#product/kernel';
import { TestCatalogue } from './test-catalogue';

/** Numbers that a double rounds, overflows or prints differently. */
const NUMBERS = '"id":12345678901234567890,"far":1e400,"one":1.0,"zero":-0,"small":[[[{"is":1E-7}]]]';
const STRINGS = '"say":"\\u00e9 \\"q\\" \\\\ \\n","2":"b","1":"a"';
const ODD = `{${NUMBERS},${STRINGS}}`;
/** Duplicate keys, which survive only as text. */
const TWICE = `{${NUMBERS},${STRINGS},"twice":1,"twice":2}`;
const SCHEMA = `{"type":"object","properties":{"input":{"type":"object","properties":{"n":{"type":"number",
  "minimum":-12345678901234567890,"maximum":1e400,"multipleOf":1.0}},"required":["n"],"additionalProperties":false}},
  "required":["input"],"additionalProperties":false}`;

/** Parses JSON with numbers kept as they were written. */
const parseExact = (text: string): unknown =>
  readJsonText(text, { numberOf: (digits) => `number ${digits}` });

type Json = Record<string, unknown>;
const valueAt = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((inner, name) => (inner as Json | undefined)?.[name], value);

const callers = {
  chat: {
    path: '/v1/chat/completions',
    body: (model: string, rest: string) =>
      `{"model":"${model}","messages":[{"role":"user","content":"Go"},{"role":"assistant","content":null,"tool_calls":[
       {"id":"call_1","type":"function","function":{"name":"act","arguments":${JSON.stringify(TWICE)}}}]},
       {"role":"tool","tool_call_id":"call_1","content":"done"}],
       "tools":[{"type":"function","function":{"name":"act","parameters":${SCHEMA}}}],
       "response_format":{"type":"json_schema","json_schema":{"name":"a","schema":${SCHEMA}}}${rest}}`,
    argumentsIn: (answer: unknown) =>
      valueAt(answer, 'choices', 0, 'message', 'tool_calls', 0, 'function', 'arguments'),
  },
  messages: {
    path: '/v1/messages',
    body: (model: string, rest: string) =>
      `{"model":"${model}","max_tokens":100,"messages":[{"role":"user","content":"Go"},{"role":"assistant","content":[
       {"type":"tool_use","id":"call_1","name":"act","input":${ODD}}]},{"role":"user","content":[
       {"type":"tool_result","tool_use_id":"call_1","content":"done"}]}],
       "tools":[{"name":"act","input_schema":${SCHEMA}}],
       "output_config":{"format":{"type":"json_schema","schema":${SCHEMA}}}${rest}}`,
    argumentsIn: (answer: unknown) => valueAt(answer, 'content', 0, 'input'),
  },
  responses: {
    path: '/v1/responses',
    body: (model: string, rest: string) =>
      `{"model":"${model}","input":[{"role":"user","content":"Go"},
       {"type":"function_call","call_id":"call_1","name":"act","arguments":${JSON.stringify(TWICE)}},
       {"type":"function_call_output","call_id":"call_1","output":"done"}],
       "tools":[{"type":"function","name":"act","parameters":${SCHEMA}}],
       "text":{"format":{"type":"json_schema","name":"a","schema":${SCHEMA}}}${rest}}`,
    argumentsIn: (answer: unknown) => valueAt(answer, 'output', 0, 'arguments'),
  },
} as const;

const suppliers = {
  chat: {
    style: 'openai-style',
    answer: `{"id":"c","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant",
      "content":null,"tool_calls":[{"id":"call_2","type":"function","function":{"name":"act",
      "arguments":${JSON.stringify(TWICE)}}}]},"finish_reason":"tool_calls"}],
      "usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`,
    inputIn: (body: unknown) => valueAt(body, 'messages', 1, 'tool_calls', 0, 'function', 'arguments'),
    schemasIn: (body: unknown) => [
      valueAt(body, 'tools', 0, 'function', 'parameters'),
      valueAt(body, 'response_format', 'json_schema', 'schema'),
    ],
  },
  messages: {
    style: 'messages-style',
    answer: `{"id":"m","type":"message","role":"assistant","model":"up","content":[
      {"type":"tool_use","id":"call_2","name":"act","input":${TWICE}}],"stop_reason":"tool_use",
      "usage":{"input_tokens":10,"output_tokens":5}}`,
    inputIn: (body: unknown) => valueAt(body, 'messages', 1, 'content', 0, 'input'),
    schemasIn: (body: unknown) => [
      valueAt(body, 'tools', 0, 'input_schema'),
      valueAt(body, 'output_config', 'format', 'schema'),
    ],
  },
  gemini: {
    style: 'gemini',
    answer: `{"responseId":"g","modelVersion":"up","candidates":[{"content":{"parts":[
      {"functionCall":{"name":"act","args":${TWICE}}}]},"finishReason":"STOP"}],
      "usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}`,
    inputIn: (body: unknown) => valueAt(body, 'contents', 1, 'parts', 0, 'functionCall', 'args'),
    schemasIn: (body: unknown) => [
      valueAt(body, 'tools', 0, 'functionDeclarations', 0, 'parametersJsonSchema'),
      valueAt(body, 'generationConfig', 'responseJsonSchema'),
    ],
  },
} as const;

const pairs = (Object.keys(callers) as (keyof typeof callers)[]).flatMap((caller) =>
  (Object.keys(suppliers) as (keyof typeof suppliers)[])
    .filter((supplier) => supplier !== caller)
    .map((supplier) => [caller, supplier] as const),
);

describe('Values that a double would change', () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;

  beforeAll(async () => {
    supplier = await ScriptedSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8' } });
    const catalogue = new TestCatalogue(app);
    for (const [name, { style }] of Object.entries(suppliers)) {
      const kind = style === 'openai-style' ? ('bearer' as const) : ('header' as const);
      await catalogue.provider({
        name,
        style,
        baseUrl: supplier.url,
        credentials: [{ label: 'one', kind, secret: 'sk-canary-of-ours' }],
      });
      await catalogue.model(`on-${name}`, [{ provider: name }], {
        input: parseUsdPerMillion('1'),
        output: parseUsdPerMillion('2'),
        uses: { web_search: parseUsd('0.01') },
      });
    }
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const post = async (path: string, body: string): Promise<string> => {
    const answer = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body,
    });
    const text = await answer.text();
    expect({ status: answer.status, text }).toMatchObject({ status: 200 });
    return text;
  };

  test.each(pairs)('exact values survive a %s request on a %s lane', async (caller, lane) => {
    const { path, body, argumentsIn } = callers[caller];
    const { answer, inputIn, schemasIn } = suppliers[lane];
    supplier.answer = { body: answer };
    const text = await post(path, body(`on-${lane}`, ''));
    const supplierBody = parseExact(supplier.requests.at(-1)!.body);
    const history = inputIn(supplierBody);
    expect(typeof history === 'string' ? parseExact(history) : history).toEqual(
      parseExact(caller === 'messages' ? ODD : TWICE),
    );
    expect(schemasIn(supplierBody)).toEqual([parseExact(SCHEMA), parseExact(SCHEMA)]);
    const returnedArguments = argumentsIn(parseExact(text));
    if (typeof returnedArguments === 'string') expect(returnedArguments).toBe(TWICE);
    else expect(text).toContain(`"input":${TWICE}`);
  });

  test('exact values survive in a streamed function call that arrives in one chunk', async () => {
    const data = suppliers.gemini.answer.replaceAll('\n', '');
    supplier.answer = { body: `data: ${data}\n\n`, headers: { 'content-type': 'text/event-stream' } };
    const text = await post(callers.chat.path, callers.chat.body('on-gemini', ',"stream":true'));
    expect(text).toContain(JSON.stringify(TWICE));
  });

  test('exact values survive on a lane whose request the gateway rewrites', async () => {
    supplier.answer = { body: suppliers.messages.answer };
    const searchTool = '{"type":"web_search_20250305","name":"web_search"}';
    const body = callers.messages.body('on-messages', '').replace('"tools":[', `"tools":[${searchTool},`);
    await post(callers.messages.path, body);
    const { body: heard } = supplier.requests.at(-1)!;
    expect(valueAt(parseExact(heard), 'tools', 0, 'max_uses')).toBe('number 5');
    expect(valueAt(parseExact(heard), 'tools', 1, 'input_schema')).toEqual(parseExact(SCHEMA));
  });
});
