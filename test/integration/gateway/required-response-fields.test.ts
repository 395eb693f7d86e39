import { addCustomer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { TestCatalogue } from './test-catalogue';

type Json = Record<string, unknown>;
const message = [{ role: 'user', content: 'Hello' }];

/**
 * Suppliers that speak the caller's dialect omit fields; the gateway adds them, and usage reports the billed tokens.
 */
describe('Required response fields', () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;
  let key: string;

  beforeAll(async () => {
    supplier = await ScriptedSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    const endpoint = { baseUrl: supplier.url };
    const bearer = { label: 'key', secret: 'sim-key', kind: 'bearer' } as const;
    await catalogue.provider({ ...endpoint, name: 'chat', style: 'openai-style', credentials: [bearer] });
    await catalogue.provider({
      ...endpoint,
      name: 'responses',
      style: 'openai-style',
      settings: { profile: 'openai' },
      credentials: [bearer],
    });
    await catalogue.provider({
      ...endpoint,
      name: 'messages',
      style: 'messages-style',
      credentials: [{ ...bearer, kind: 'header' }],
    });
    for (const provider of ['chat', 'messages', 'responses'])
      await catalogue.model(`on-${provider}`, [{ provider }]);
    await catalogue.model('vectors', [{ provider: 'chat' }], { input: 1_000n }, 'embedding');
    ({ key } = await addCustomer(app, 'payer', 10n ** 12n));
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const sendRequest = async (
    path: string,
    body: Json,
    answer: object,
  ): Promise<{ told: Json; counted: number[] }> => {
    supplier.answer = { body: answer };
    const response = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    const responseBody = (await response.json()) as Json;
    const [row] = await app.database.query<{ input: number; output: number }>(
      `SELECT input_tokens + cache_read_tokens + cache_write_tokens AS input, output_tokens + reasoning_tokens AS output
         FROM request_record WHERE request_id = $1`,
      [response.headers.get('x-request-id')],
    );
    const billedTokens = ['input', 'output'].map((side) =>
      Number(response.headers.get(`x-svc-${side}-tokens`)),
    );
    expect([row?.input, row?.output].map(Number)).toEqual(billedTokens);
    return { told: responseBody, counted: billedTokens };
  };
  const chat = (answer: object): ReturnType<typeof sendRequest> =>
    sendRequest('/v1/chat/completions', { model: 'on-chat', messages: message }, answer);

  test('chat response gets its missing fields', async () => {
    const { told, counted } = await chat({ choices: [{ message: { content: 'A whole sentence.' } }] });
    const [input = 0, output = 0] = counted;
    expect(told).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/) as string,
      object: 'chat.completion',
      model: 'on-chat',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'A whole sentence.' }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    });
    expect(output).toBeGreaterThan(0);
  });

  test('chat response with tool calls gets its missing fields and keeps large numbers exact', async () => {
    const call = {
      id: 'c',
      type: 'function',
      function: { name: 'f', arguments: '{"n":12345678901234567890}' },
    };
    const { told } = await chat({ choices: [{ message: { tool_calls: [call] } }] });
    expect(told.choices).toEqual([
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: { role: 'assistant', content: null, tool_calls: [call] },
      },
    ]);
  });

  test('chat usage includes reasoning tokens that the supplier reports separately', async () => {
    const usage = {
      prompt_tokens: 7,
      completion_tokens: 5,
      total_tokens: 20,
      completion_tokens_details: { reasoning_tokens: 8 },
    };
    const { told, counted } = await chat({
      id: 'theirs',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      usage,
    });
    expect(counted).toEqual([7, 13]);
    expect(told).toMatchObject({
      id: 'theirs',
      usage: { prompt_tokens: 7, completion_tokens: 13, total_tokens: 20 },
    });
  });

  test('complete chat response is passed through unchanged', async () => {
    const answer = {
      id: 'theirs',
      object: 'chat.completion',
      model: 'on-chat',
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'length', odd: 1 }],
      usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12, odd: { a: 1 } },
    };
    expect((await chat(answer)).told).toEqual(answer);
  });

  test('messages response gets its missing fields', async () => {
    const { told, counted } = await sendRequest(
      '/v1/messages',
      { model: 'on-messages', max_tokens: 50, messages: message },
      { content: [{ type: 'text', text: 'A whole sentence.' }] },
    );
    expect(told).toMatchObject({
      id: expect.stringMatching(/^msg_/) as string,
      type: 'message',
      role: 'assistant',
      model: 'on-messages',
      stop_reason: 'end_turn',
      usage: { input_tokens: counted[0], output_tokens: counted[1] },
    });
  });

  test('responses response gets its missing fields', async () => {
    const content = [{ type: 'output_text', text: 'A whole sentence.', annotations: [] }];
    const { told, counted } = await sendRequest(
      '/v1/responses',
      { model: 'on-responses', input: 'Hello' },
      { output: [{ type: 'message', role: 'assistant', content }] },
    );
    const [input = 0, output = 0] = counted;
    expect(told).toMatchObject({
      id: expect.stringMatching(/^resp_/) as string,
      object: 'response',
      status: 'completed',
      usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    });
  });

  test('embeddings response gets its missing fields', async () => {
    const { told, counted } = await sendRequest(
      '/v1/embeddings',
      { model: 'vectors', input: ['a', 'b'] },
      { data: [{ embedding: [0.1, 2] }, { embedding: [0.3, 4] }] },
    );
    expect(told).toEqual({
      object: 'list',
      model: 'vectors',
      data: [
        { object: 'embedding', index: 0, embedding: [0.1, 2] },
        { object: 'embedding', index: 1, embedding: [0.3, 4] },
      ],
      usage: { prompt_tokens: counted[0], total_tokens: counted[0] },
    });
    expect(counted[0]).toBeGreaterThan(0);
  });
});
