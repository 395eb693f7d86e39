import type { NewKey } from '#product/keys';
import { type Customer, addCustomer } from '../../../support/customer';
import { startTestApp, type TestApp } from '../../../support/app';
import { ScriptedSupplier } from '../../../support/scripted-supplier';
import { ModelShelf } from '../model-shelf';

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
const completion = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
};
const overloaded = {
  status: 529,
  body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
};

describe('fields of a request that the gateway does not know', () => {
  let app: TestApp;
  let vendor: ScriptedSupplier;
  let other: ScriptedSupplier;
  let chatServer: ScriptedSupplier;
  let prepaid: Customer;

  beforeAll(async () => {
    [vendor, other, chatServer] = await Promise.all([
      ScriptedSupplier.start(),
      ScriptedSupplier.start(),
      ScriptedSupplier.start(),
    ]);
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const shelf = new ModelShelf(app);
    for (const [name, style, server, settings] of [
      ['vendor', 'messages-style', vendor, { profile: 'anthropic' }],
      ['other', 'messages-style', other, { profile: 'generic' }],
      ['chat-server', 'openai-style', chatServer, { profile: 'vllm' }],
    ] as const) {
      const kind = style === 'messages-style' ? 'header' : 'bearer';
      const credentials = [{ label: 'test', kind, secret: 'sim-test' } as const];
      await shelf.provider({ name, style, baseUrl: server.url, settings, credentials });
    }
    await shelf.model('on-vendor', [{ provider: 'vendor' }]);
    await shelf.model('on-other', [{ provider: 'other' }]);
    await shelf.model('on-both', [
      { provider: 'vendor', priority: 0 },
      { provider: 'other', priority: 1 },
    ]);
    await shelf.model('on-chat', [{ provider: 'chat-server', upstreamModel: 'unheard-of' }]);
    prepaid = await addCustomer(app, 'prepaid', 5n * DOLLAR);
  });
  beforeEach(() => {
    vendor.answer = other.answer = { body: answer };
    chatServer.answer = { body: completion };
    for (const server of [vendor, other, chatServer]) server.heard.length = 0;
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([vendor.stop(), other.stop(), chatServer.stop()]);
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
  const ask = (more: object, options = {}, model = 'on-vendor') =>
    send('/v1/messages', { model, max_tokens: 20, messages, ...more }, options);
  const heardBy = (server: ScriptedSupplier): Record<string, unknown>[] =>
    server.heard.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  let customers = 0;
  const limited = (limits: Partial<NewKey>): Promise<Customer> => {
    customers += 1;
    return addCustomer(app, `limited-${customers}`, 5n * DOLLAR, limits);
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
  ])('%s is left out and named where a wallet limits the payer', async (_what, more, name) => {
    const reply = await ask(more);
    expect([reply.status, reply.headers.get('x-svc-dropped')]).toEqual([200, name]);
    const [sent] = heardBy(vendor);
    expect(JSON.stringify(sent)).not.toContain(name.split('.').at(-1));
    expect(sent).toMatchObject({ max_tokens: 20 });
  });

  test('names within a JSON schema, the input of a call and labels are the caller’s own', async () => {
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
    const reply = await ask(body);
    expect([reply.status, reply.headers.get('x-svc-dropped')]).toEqual([200, null]);
    expect(heardBy(vendor)[0]).toMatchObject(body);
  });

  test('an unknown beta is left out and named; a new date of a known family is not', async () => {
    const betas = 'context-management-2030-01-01,telepathy-2026-12-01';
    const reply = await ask({}, { headers: { 'anthropic-beta': betas } });
    expect([reply.status, reply.headers.get('x-svc-dropped')]).toEqual([
      200,
      'anthropic-beta.telepathy-2026-12-01',
    ]);
    expect(vendor.heard[0]?.headers['anthropic-beta']).toBe('context-management-2030-01-01');
  });

  // Issue: "forward, the default for exempt and unlimited payers".
  test('everything goes on to a supplier that validates where nothing limits the payer', async () => {
    const free = await addCustomer(app, 'free');
    await app.database.query('UPDATE user_account SET billing_exempt = true WHERE id = $1', [free.userId]);
    const more = { memory_graph: 1, messages: [{ role: 'user', content: [{ ...block, echo: 1 }] }] };
    const options = { key: free.key, headers: { 'anthropic-beta': 'telepathy-2026-12-01' } };
    const reply = await ask(more, options);
    expect([reply.status, reply.headers.get('x-svc-dropped')]).toEqual([200, null]);
    expect(heardBy(vendor)[0]).toMatchObject(more);
    expect(vendor.heard[0]?.headers['anthropic-beta']).toBe('telepathy-2026-12-01');
    const elsewhere = await ask(more, options, 'on-other');
    expect([elsewhere.status, elsewhere.headers.get('x-svc-dropped')]).toEqual([
      200,
      'memory_graph, content.echo, anthropic-beta.telepathy-2026-12-01',
    ]);
  });

  // Issue: "sends it and holds the model's complete window and maximum output where anything limits the payer".
  test('with forward of the key, a limited payer holds the complete window', async () => {
    const rich = await limited({
      unknownFields: 'forward',
      budget: { limit: 5n * DOLLAR, period: 'monthly' },
    });
    const poor = await limited({
      unknownFields: 'forward',
      budget: { limit: DOLLAR / 10n, period: 'monthly' },
    });
    const forwarded = await ask({ memory_graph: 1 }, { key: rich.key });
    expect([forwarded.status, forwarded.headers.get('x-svc-dropped')]).toEqual([200, null]);
    expect(heardBy(vendor)).toMatchObject([{ memory_graph: 1 }]);
    // The window of 2,000,000 tokens costs $2, more than the budget of $0.10.
    expect((await ask({ memory_graph: 1 }, { key: poor.key })).status).toBe(402);
    expect((await ask({}, { key: poor.key })).status).toBe(200);
  });

  test('the organisation decides if its key does not', async () => {
    const { key, userId } = await limited({});
    const [chosen] = await app.database.query<{ id: number }>(
      `INSERT INTO organisation (name, slug, unknown_fields) VALUES ('Chosen', 'chosen', 'forward') RETURNING id`,
    );
    await app.database.query('UPDATE user_account SET organisation_id = $1 WHERE id = $2', [
      chosen?.id,
      userId,
    ]);
    const reply = await ask({ memory_graph: 1 }, { key });
    expect([reply.status, reply.headers.get('x-svc-dropped')]).toEqual([200, null]);
  });

  // "First lane 529 → 503, a healthy generic messages lane is never tried."
  test('a field of the day the client ships it does not keep the second lane from answering', async () => {
    vendor.answer = overloaded;
    const reply = await ask({ memory_graph: 1 }, {}, 'on-both');
    expect([reply.status, reply.headers.get('x-svc-failover'), reply.headers.get('x-svc-dropped')]).toEqual([
      200,
      'true',
      'memory_graph',
    ]);
  });

  const safeguards = [{ type: 'dangerous_tool_use', classifier_context: { v: 1, permission_mode: 'auto' } }];

  // "Its contract: 400 invalid_request_error naming safeguards".
  test.each(['on-other', 'on-chat'])('safeguards is refused by name on %s', async (model) => {
    const reply = await ask({ safeguards }, {}, model);
    const { error } = (await reply.json()) as { error: { type: string; param: string; message: string } };
    expect([reply.status, error.type, error.param]).toEqual([400, 'invalid_request_error', 'safeguards']);
    expect(error.message).toMatch(/^unsupported_parameter - safeguards:/);
  });

  test('safeguards reaches the vendor as it came, and is refused by name where only other lanes are left', async () => {
    const reply = await ask({ safeguards }, {}, 'on-both');
    expect([reply.status, reply.headers.get('x-svc-dropped')]).toEqual([200, null]);
    expect(heardBy(vendor)[0]).toMatchObject({ safeguards });
    vendor.answer = overloaded;
    const refused = await ask({ safeguards }, {}, 'on-both');
    const { error } = (await refused.json()) as { error: { param: string } };
    expect([refused.status, error.param]).toEqual([400, 'safeguards']);
    expect((await ask({}, {}, 'on-both')).status).toBe(200);
  });

  // "Any key can continue another key's message of the same supplier account."
  test.each([{ type: 'continue', previous_message_id: 'msg_of_another' }, { type: 'create' }])(
    'thread %j is refused by name on every lane, and nothing is sent',
    async (thread) => {
      const reply = await ask({ thread });
      const { error } = (await reply.json()) as { error: { param: string } };
      expect([reply.status, error.param]).toEqual([400, 'thread']);
      expect(vendor.heard).toEqual([]);
    },
  );

  // "input_audio.data as an address (Alibaba's documented form) is held as base64 text".
  test.each(['https://example.com/a.wav', 'oss://bucket/a.wav', 'data:;base64,https://example.com/a.wav'])(
    'sound at %s is held as the complete window',
    async (data) => {
      const { key } = await limited({ budget: { limit: DOLLAR / 10n, period: 'monthly' } });
      const content = [{ type: 'input_audio', input_audio: { data, format: 'wav' } }];
      const body = { model: 'on-chat', max_tokens: 20, messages: [{ role: 'user', content }] };
      expect((await send('/v1/chat/completions', body, { key })).status).toBe(402);
      expect(chatServer.heard).toEqual([]);
    },
  );

  test('a request counts its tokens without the names that are unknown', async () => {
    vendor.answer = { body: { input_tokens: 7 } };
    const reply = await send('/v1/messages/count_tokens', { model: 'on-vendor', messages, memory_graph: 1 });
    expect(await reply.json()).toEqual({ input_tokens: 7 });
    expect(heardBy(vendor)[0]).not.toHaveProperty('memory_graph');
  });
});
