import type { NewKey } from '#product/keys';
import { type Customer, addCustomer } from '../../../support/customer';
import { startTestApp, type TestApp } from '../../../support/app';
import { ScriptedSupplier } from '../../../support/scripted-supplier';
import { TestCatalogue } from '../test-catalogue';

const DOLLAR = 1_000_000_000n;
const messages = [{ role: 'user', content: 'Hello' }];
const answer = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 2 },
};
const chatCompletion = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
};
const overloadedResponse = {
  status: 529,
  body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
};

describe('Unknown request fields', () => {
  let app: TestApp;
  let vendor: ScriptedSupplier;
  let otherServer: ScriptedSupplier;
  let chatServer: ScriptedSupplier;
  let prepaid: Customer;

  beforeAll(async () => {
    [vendor, otherServer, chatServer] = await Promise.all([
      ScriptedSupplier.start(),
      ScriptedSupplier.start(),
      ScriptedSupplier.start(),
    ]);
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    for (const [name, style, server, settings] of [
      ['vendor', 'messages-style', vendor, { profile: 'anthropic' }],
      ['other', 'messages-style', otherServer, { profile: 'generic' }],
      ['chat-server', 'openai-style', chatServer, { profile: 'vllm' }],
    ] as const) {
      const kind = style === 'messages-style' ? 'header' : 'bearer';
      const credentials = [{ label: 'test', kind, secret: 'sim-test' } as const];
      await catalogue.provider({ name, style, baseUrl: server.url, settings, credentials });
    }
    await catalogue.model('on-vendor', [{ provider: 'vendor' }]);
    await catalogue.model('on-other', [{ provider: 'other' }]);
    await catalogue.model('on-both', [
      { provider: 'vendor', priority: 0 },
      { provider: 'other', priority: 1 },
    ]);
    await catalogue.model('on-chat', [{ provider: 'chat-server', upstreamModel: 'unheard-of' }]);
    prepaid = await addCustomer(app, 'prepaid', 5n * DOLLAR);
  });
  beforeEach(() => {
    vendor.answer = otherServer.answer = { body: answer };
    chatServer.answer = { body: chatCompletion };
    for (const server of [vendor, otherServer, chatServer]) server.requests.length = 0;
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([vendor.stop(), otherServer.stop(), chatServer.stop()]);
  });

  const send = (
    path: string,
    body: object,
    { key = prepaid.key, headers = {} }: { key?: string; headers?: Record<string, string> } = {},
  ): Promise<Response> =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const sendRequest = (more: object, options = {}, model = 'on-vendor') =>
    send('/v1/messages', { model, max_tokens: 20, messages, ...more }, options);
  const bodiesSentTo = (server: ScriptedSupplier): Record<string, unknown>[] =>
    server.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  let customerCount = 0;
  const createLimitedCustomer = (limits: Partial<NewKey>): Promise<Customer> => {
    customerCount += 1;
    return addCustomer(app, `limited-${customerCount}`, 5n * DOLLAR, limits);
  };

  const block = { type: 'text', text: 'Hello' };

  // Issue: "drop, the default wherever a budget or a prepaid wallet applies, leaves it out and names it in x-svc-dropped".
  test.each([
    ['a field', { memory_graph: { id: 'g' } }, 'memory_graph'],
    [
      'an attribute of a block',
      { messages: [{ role: 'user', content: [{ ...block, echo: 1 }] }] },
      'content.echo',
    ],
    [
      'an attribute of a message',
      { messages: [{ role: 'user', content: 'Hello', echo: 1 }] },
      'messages.echo',
    ],
    [
      'an attribute of a tool',
      { tools: [{ name: 'f', input_schema: { type: 'object' }, echo: 1 }] },
      'tools.echo',
    ],
    ['a field of thinking', { thinking: { type: 'adaptive', echo: 1 } }, 'thinking.echo'],
  ])('%s is dropped and named if a wallet limits the payer', async (_what, more, name) => {
    const response = await sendRequest(more);
    expect([response.status, response.headers.get('x-svc-dropped')]).toEqual([200, name]);
    const [supplierBody] = bodiesSentTo(vendor);
    expect(JSON.stringify(supplierBody)).not.toContain(name.split('.').at(-1));
    expect(supplierBody).toMatchObject({ max_tokens: 20 });
  });

  test('names inside JSON schemas, tool inputs and labels are never dropped', async () => {
    const body = {
      tools: [{ name: 'f', input_schema: { type: 'object', properties: { echo: { odd: 1 } } } }],
      messages: [
        { role: 'user', content: 'Hello' },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { echo: { odd: 1 } } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
      ],
    };
    const response = await sendRequest(body);
    expect([response.status, response.headers.get('x-svc-dropped')]).toEqual([200, null]);
    expect(bodiesSentTo(vendor)[0]).toMatchObject(body);
  });

  test('unknown beta is dropped and named, but a new date of a known beta is not', async () => {
    const betas = 'context-management-2030-01-01,telepathy-2026-12-01';
    const response = await sendRequest({}, { headers: { 'anthropic-beta': betas } });
    expect([response.status, response.headers.get('x-svc-dropped')]).toEqual([
      200,
      'anthropic-beta.telepathy-2026-12-01',
    ]);
    expect(vendor.requests[0]?.headers['anthropic-beta']).toBe('context-management-2030-01-01');
  });

  // Issue: "forward, the default for exempt and unlimited payers".
  test('every field is forwarded to a validating supplier if nothing limits the payer', async () => {
    const exemptCustomer = await addCustomer(app, 'free');
    await app.database.query('UPDATE user_account SET billing_exempt = true WHERE id = $1', [
      exemptCustomer.userId,
    ]);
    const unknownFields = { memory_graph: 1, messages: [{ role: 'user', content: [{ ...block, echo: 1 }] }] };
    const options = { key: exemptCustomer.key, headers: { 'anthropic-beta': 'telepathy-2026-12-01' } };
    const response = await sendRequest(unknownFields, options);
    expect([response.status, response.headers.get('x-svc-dropped')]).toEqual([200, null]);
    expect(bodiesSentTo(vendor)[0]).toMatchObject(unknownFields);
    expect(vendor.requests[0]?.headers['anthropic-beta']).toBe('telepathy-2026-12-01');
    const otherResponse = await sendRequest(unknownFields, options, 'on-other');
    expect([otherResponse.status, otherResponse.headers.get('x-svc-dropped')]).toEqual([
      200,
      'memory_graph, content.echo, anthropic-beta.telepathy-2026-12-01',
    ]);
  });

  // Issue: "sends it and holds the model's complete window and maximum output where anything limits the payer".
  test('forwarded fields hold the complete window of a limited payer', async () => {
    const richCustomer = await createLimitedCustomer({
      unknownFields: 'forward',
      budget: { limit: 5n * DOLLAR, period: 'monthly' },
    });
    const poorCustomer = await createLimitedCustomer({
      unknownFields: 'forward',
      budget: { limit: DOLLAR / 10n, period: 'monthly' },
    });
    const response = await sendRequest({ memory_graph: 1 }, { key: richCustomer.key });
    expect([response.status, response.headers.get('x-svc-dropped')]).toEqual([200, null]);
    expect(bodiesSentTo(vendor)).toMatchObject([{ memory_graph: 1 }]);
    // The window of 2,000,000 tokens costs $2, more than the budget of $0.10.
    expect((await sendRequest({ memory_graph: 1 }, { key: poorCustomer.key })).status).toBe(402);
    expect((await sendRequest({}, { key: poorCustomer.key })).status).toBe(200);
  });

  test("organisation's setting applies if its key has none", async () => {
    const { key, userId } = await createLimitedCustomer({});
    const [organisation] = await app.database.query<{ id: number }>(
      `INSERT INTO organisation (name, slug, unknown_fields) VALUES ('Chosen', 'chosen', 'forward') RETURNING id`,
    );
    await app.database.query('UPDATE user_account SET organisation_id = $1 WHERE id = $2', [
      organisation?.id,
      userId,
    ]);
    const response = await sendRequest({ memory_graph: 1 }, { key });
    expect([response.status, response.headers.get('x-svc-dropped')]).toEqual([200, null]);
  });

  // "First lane 529 → 503, a healthy generic messages lane is never tried."
  test('unknown field does not prevent a failover', async () => {
    vendor.answer = overloadedResponse;
    const response = await sendRequest({ memory_graph: 1 }, {}, 'on-both');
    expect([
      response.status,
      response.headers.get('x-svc-failover'),
      response.headers.get('x-svc-dropped'),
    ]).toEqual([200, 'true', 'memory_graph']);
  });

  const safeguards = [{ type: 'dangerous_tool_use', classifier_context: { v: 1, permission_mode: 'auto' } }];

  // "Its contract: 400 invalid_request_error naming safeguards".
  test.each(['on-other', 'on-chat'])('safeguards is rejected by name on %s', async (model) => {
    const response = await sendRequest({ safeguards }, {}, model);
    const { error } = (await response.json()) as { error: { type: string; param: string; message: string } };
    expect([response.status, error.type, error.param]).toEqual([400, 'invalid_request_error', 'safeguards']);
    expect(error.message).toMatch(/^unsupported_parameter - safeguards:/);
  });

  test('safeguards is forwarded to the vendor, and rejected by name if only other lanes are left', async () => {
    const response = await sendRequest({ safeguards }, {}, 'on-both');
    expect([response.status, response.headers.get('x-svc-dropped')]).toEqual([200, null]);
    expect(bodiesSentTo(vendor)[0]).toMatchObject({ safeguards });
    vendor.answer = overloadedResponse;
    const refusal = await sendRequest({ safeguards }, {}, 'on-both');
    const { error } = (await refusal.json()) as { error: { param: string } };
    expect([refusal.status, error.param]).toEqual([400, 'safeguards']);
    expect((await sendRequest({}, {}, 'on-both')).status).toBe(200);
  });

  // "Any key can continue another key's message of the same supplier account."
  test.each([{ type: 'continue', previous_message_id: 'msg_of_another' }, { type: 'create' }])(
    'thread %j is rejected by name without a supplier call',
    async (thread) => {
      const response = await sendRequest({ thread });
      const { error } = (await response.json()) as { error: { param: string } };
      expect([response.status, error.param]).toEqual([400, 'thread']);
      expect(vendor.requests).toEqual([]);
    },
  );

  // "input_audio.data as an address (Alibaba's documented form) is held as base64 text".
  test.each(['https://example.com/a.wav', 'oss://bucket/a.wav', 'data:;base64,https://example.com/a.wav'])(
    'audio at %s is held as the complete window',
    async (data) => {
      const { key } = await createLimitedCustomer({ budget: { limit: DOLLAR / 10n, period: 'monthly' } });
      const content = [{ type: 'input_audio', input_audio: { data, format: 'wav' } }];
      const body = { model: 'on-chat', max_tokens: 20, messages: [{ role: 'user', content }] };
      expect((await send('/v1/chat/completions', body, { key })).status).toBe(402);
      expect(chatServer.requests).toEqual([]);
    },
  );

  test('token count is requested without the unknown fields', async () => {
    vendor.answer = { body: { input_tokens: 7 } };
    const response = await send('/v1/messages/count_tokens', {
      model: 'on-vendor',
      messages,
      memory_graph: 1,
    });
    expect(await response.json()).toEqual({ input_tokens: 7 });
    expect(bodiesSentTo(vendor)[0]).not.toHaveProperty('memory_graph');
  });
});
