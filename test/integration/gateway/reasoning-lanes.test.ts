import { startTestApp, type TestApp } from '../../support/app';
import { type ReceivedRequest, ScriptedSupplier } from '../../support/scripted-supplier';
import { TestCatalogue } from './test-catalogue';

type Json = Record<string, unknown>;
type ScriptedReply = (request: ReceivedRequest) => object | number;

const tools = {
  messages: [{ name: 'act', input_schema: { type: 'object', properties: {} } }],
  responses: [{ type: 'function', name: 'act', parameters: { type: 'object', properties: {} } }],
  chat: [{ type: 'function', function: { name: 'act', parameters: { type: 'object', properties: {} } } }],
};
const messagesResponse = (content: object[]): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'up',
  content,
  stop_reason: content.some((block) => 'input' in block) ? 'tool_use' : 'end_turn',
  usage: { input_tokens: 10, output_tokens: 5 },
});
const thinkingBlock = (text: string, signature: string): object => ({
  type: 'thinking',
  thinking: text,
  signature,
});
const toolUse = (id: string): object => ({ type: 'tool_use', id, name: 'act', input: {} });
const chatResponse = (message: object, reason = 'tool_calls'): object => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: reason }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});
const chatToolCall = (id: string): object => ({
  id,
  type: 'function',
  function: { name: 'act', arguments: '{}' },
});
const responsesObject = (output: object[]): object => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'up',
  output,
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
});
const signatureError = {
  type: 'error',
  error: { type: 'invalid_request_error', message: 'messages.1: Invalid `signature`' },
};

describe('Reasoning across lanes', () => {
  let app: TestApp;
  let catalogue: TestCatalogue;
  const suppliers: Record<string, ScriptedSupplier> = {};
  const replies: Record<string, ScriptedReply> = {};
  let modelCount = 0;

  const kinds = {
    'messages-a': { style: 'messages-style', settings: { profile: 'anthropic' } },
    'messages-b': { style: 'messages-style', settings: {} },
    chat: { style: 'openai-style', settings: {} },
    mistral: { style: 'openai-style', settings: { profile: 'mistral' } },
    'openai-a': { style: 'openai-style', settings: { profile: 'openai' } },
    'openai-b': { style: 'openai-style', settings: { profile: 'openai' } },
  } as const;
  type LaneKind = keyof typeof kinds;

  beforeAll(async () => {
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8', LANE_FAILURES: '50' } });
    catalogue = new TestCatalogue(app);
    for (const [name, { style, settings }] of Object.entries(kinds)) {
      const supplier = (suppliers[name] = await ScriptedSupplier.start());
      const kind = style === 'openai-style' ? ('bearer' as const) : ('header' as const);
      await catalogue.provider({
        name,
        style,
        settings,
        baseUrl: supplier.url,
        credentials: [{ label: 'one', kind, secret: 'sk-canary-of-ours' }],
      });
    }
  });
  afterAll(async () => {
    await app.close();
    await Promise.all(Object.values(suppliers).map((supplier) => supplier.stop()));
  });
  beforeEach(() => {
    for (const [name, supplier] of Object.entries(suppliers)) {
      delete replies[name];
      supplier.answer = (request) => {
        const reply = replies[name]?.(request) ?? 503;
        if (typeof reply === 'number') return { status: reply, body: reply === 400 ? signatureError : {} };
        return { body: reply };
      };
    }
  });

  const modelOn = async (...lanes: LaneKind[]): Promise<string> => {
    const name = `lanes-${(modelCount += 1)}`;
    await catalogue.model(
      name,
      lanes.map((provider, priority) => ({ provider, upstreamModel: `up-${name}`, priority })),
    );
    return name;
  };
  const paths = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' };
  const post = async (dialect: keyof typeof paths, body: object): Promise<Json> => {
    const answer = await fetch(app.url + paths[dialect], {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { ...((await answer.json()) as Json), status: answer.status };
  };
  const requestTo = (name: LaneKind, back = 1): Json =>
    JSON.parse(suppliers[name]!.requests.at(-back)!.body) as Json;
  const blocksIn = (body: Json): Json[] =>
    (body.messages as Json[]).flatMap(({ content }) => (Array.isArray(content) ? (content as Json[]) : []));

  const question = { role: 'user', content: 'Go' };
  const messagesBody = (model: string, messages: object[], rest: object = {}): object => ({
    model,
    max_tokens: 2_000,
    messages,
    tools: tools.messages,
    ...rest,
  });

  test('turn of a chat backup returns to a messages lane without foreign thinking and invalid tool ids', async () => {
    const model = await modelOn('messages-a', 'chat');
    replies.chat = () =>
      chatResponse({
        reasoning_content: 'Hmm.',
        tool_calls: [
          chatToolCall('functions.act:0'),
          chatToolCall('functions.act:1'),
          chatToolCall('functions act:1'),
        ],
      });
    const first = await post('messages', messagesBody(model, [question]));
    const content = first.content as Json[];
    expect(content.map(({ type }) => type)).toEqual(['thinking', 'tool_use', 'tool_use', 'tool_use']);
    expect(content[0]!.signature).not.toBe('');
    delete replies.chat;
    replies['messages-a'] = () => messagesResponse([{ type: 'text', text: 'Done' }]);
    const results = content
      .slice(1)
      .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: String(id) }));
    const history = [question, { role: 'assistant', content }, { role: 'user', content: results }];
    const budget = { thinking: { type: 'enabled', budget_tokens: 1_024 } };
    expect(await post('messages', messagesBody(model, history, budget))).toMatchObject({ status: 200 });
    const supplierBody = requestTo('messages-a');
    const blocks = blocksIn(supplierBody);
    expect(blocks.map(({ type }) => type)).not.toContain('thinking');
    const ids = blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [String(id)] : []));
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    const toolResults = blocks.filter(({ type }) => type === 'tool_result');
    expect(toolResults.map(({ tool_use_id: id }) => id)).toEqual(ids);
    expect(toolResults.map(({ content: of }) => of)).toEqual(content.slice(1).map(({ id }) => id));
    // With a budget, the turn would have to start with the lane's own thinking.
    expect(supplierBody.thinking).toBeUndefined();
    // The history is converted identically in every later turn.
    await post(
      'messages',
      messagesBody(model, [...history, { role: 'assistant', content: 'Done' }, question]),
    );
    expect((requestTo('messages-a').messages as Json[]).slice(0, 3)).toEqual(supplierBody.messages);
  });

  test('conversation on one lane is forwarded byte for byte', async () => {
    const model = await modelOn('messages-a', 'chat');
    replies['messages-a'] = () => messagesResponse([thinkingBlock('Own.', 'sig-own'), toolUse('toolu_1')]);
    const first = await post('messages', messagesBody(model, [question]));
    const body = messagesBody(model, [
      question,
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
    ]);
    expect(await post('messages', body)).toMatchObject({ status: 200 });
    expect(suppliers['messages-a']!.requests.at(-1)!.body).toBe(
      JSON.stringify(body).replace(`"model":"${model}"`, `"model":"up-${model}"`),
    );
  });

  test.each([false, true])(
    'thinking of one account is withheld from another, streamed: %s',
    async (stream) => {
      const model = await modelOn('messages-a', 'messages-b');
      const signature = `sig-of-a-${stream}`;
      const events = [
        { type: 'message_start', message: { ...messagesResponse([]), stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: thinkingBlock('', '') },
        { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'A' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
        { type: 'message_stop' },
      ];
      const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
      suppliers['messages-a']!.answer = () =>
        stream
          ? { body: text, headers: { 'content-type': 'text/event-stream' } }
          : { body: messagesResponse([thinkingBlock('A', signature)]) };
      const response = await fetch(app.url + paths.messages, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
        body: JSON.stringify(messagesBody(model, [question], { stream })),
      });
      expect(await response.text()).toContain(signature);
      suppliers['messages-a']!.answer = () => ({ status: 503, body: {} });
      replies['messages-b'] = () =>
        messagesResponse([thinkingBlock('B', 'sig-of-b'), { type: 'text', text: 'x' }]);
      const content = [thinkingBlock('A', signature), { type: 'text', text: 'x' }];
      const history = [question, { role: 'assistant', content }, question];
      await post('messages', messagesBody(model, history));
      expect(suppliers['messages-b']!.requests.at(-1)!.body).not.toContain(signature);
      const longerHistory = [
        ...history,
        { role: 'assistant', content: [thinkingBlock('B', 'sig-of-b'), { type: 'text', text: 'x' }] },
        question,
      ];
      await post('messages', messagesBody(model, longerHistory));
      const { body } = suppliers['messages-b']!.requests.at(-1)!;
      expect([body.includes('sig-of-b'), body.includes(signature)]).toEqual([true, false]);
    },
  );

  test('unknown thinking is dropped once the lane refuses it, and from then on', async () => {
    suppliers['messages-a']!.answer = (request) => {
      if (request.body.includes('sig-of-a-stranger')) return { status: 400, body: signatureError };
      return { body: messagesResponse([{ type: 'text', text: 'Fine' }]) };
    };
    const model = await modelOn('messages-a');
    const history = [
      question,
      { role: 'assistant', content: [thinkingBlock('?', 'sig-of-a-stranger'), { type: 'text', text: 'x' }] },
      question,
    ];
    const requestsBefore = suppliers['messages-a']!.requests.length;
    expect(await post('messages', messagesBody(model, history))).toMatchObject({ status: 200 });
    expect(suppliers['messages-a']!.requests.length - requestsBefore).toBe(2);
    expect(await post('messages', messagesBody(model, history))).toMatchObject({ status: 200 });
    expect(suppliers['messages-a']!.requests.length - requestsBefore).toBe(3);
    // A request that the lane refuses anyway stays refused, after one retry.
    suppliers['messages-a']!.answer = () => ({ status: 400, body: signatureError });
    const otherHistory = JSON.parse(
      JSON.stringify(history).replace('stranger', 'second stranger'),
    ) as object[];
    expect(await post('messages', messagesBody(model, otherHistory))).toMatchObject({ status: 400 });
    expect(suppliers['messages-a']!.requests.length - requestsBefore).toBe(5);
    expect(await post('messages', messagesBody(model, [question]))).toMatchObject({ status: 400 });
    expect(suppliers['messages-a']!.requests.length - requestsBefore).toBe(6);
  });

  test('encrypted reasoning of one account is withheld from another', async () => {
    const model = await modelOn('openai-a', 'openai-b');
    replies['openai-a'] = () =>
      responsesObject([
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc-of-a' },
        { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'act', arguments: '{}' },
      ]);
    const first = await post('responses', { model, input: 'Go', tools: tools.responses });
    const output = first.output as object[];
    const input = [
      { role: 'user', content: 'Go' },
      ...output,
      { type: 'function_call_output', call_id: 'call_1', output: 'ok' },
    ];
    await post('responses', { model, input, tools: tools.responses });
    expect(suppliers['openai-a']!.requests.at(-1)!.body).toContain('enc-of-a');
    delete replies['openai-a'];
    replies['openai-b'] = () => responsesObject([{ type: 'message', role: 'assistant', content: [] }]);
    expect(await post('responses', { model, input, tools: tools.responses })).toMatchObject({ status: 200 });
    expect(suppliers['openai-b']!.requests.at(-1)!.body).not.toContain('enc-of-a');
    expect(suppliers['openai-b']!.requests.at(-1)!.body).toContain('call_1');
  });

  test('thinking of a messages lane survives the tool turns of a responses caller', async () => {
    const model = await modelOn('messages-a', 'messages-b');
    replies['messages-a'] = () =>
      messagesResponse([thinkingBlock('Think.', 'sig-think'), toolUse('toolu_1')]);
    const reasoning = { effort: 'medium' };
    const rest = { tools: tools.responses, reasoning, max_output_tokens: 4_000, store: false };
    const first = await post('responses', { model, input: 'Go', ...rest });
    const output = first.output as Json[];
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'function_call']);
    const input = [
      { role: 'user', content: 'Go' },
      ...output,
      { type: 'function_call_output', call_id: 'toolu_1', output: 'ok' },
    ];
    await post('responses', { model, input, ...rest });
    const supplierBody = requestTo('messages-a');
    expect(blocksIn(supplierBody)[0]).toEqual(thinkingBlock('Think.', 'sig-think'));
    expect(supplierBody.thinking).toMatchObject({ type: 'adaptive' });
    // Changed text invalidates the signature.
    const changedInput = JSON.parse(JSON.stringify(input).replace('Think.', 'Thought.')) as object[];
    await post('responses', { model, input: changedInput, ...rest });
    expect(suppliers['messages-a']!.requests.at(-1)!.body).not.toContain('sig-think');
    delete replies['messages-a'];
    replies['messages-b'] = () => messagesResponse([{ type: 'text', text: 'x' }]);
    await post('responses', { model, input, ...rest });
    expect(suppliers['messages-b']!.requests.at(-1)!.body).not.toContain('sig-think');
    expect(requestTo('messages-b').thinking).toBeUndefined();
  });

  test('converted conversations that continue are marked for caching if the supplier supports it', async () => {
    for (const name of ['messages-a', 'messages-b'] as const)
      suppliers[name]!.answer = () => ({ body: messagesResponse([{ type: 'text', text: 'x' }]) });
    const [own, other] = [await modelOn('messages-a'), await modelOn('messages-b')];
    await post('responses', { model: own, input: 'Go', tools: tools.responses });
    expect(requestTo('messages-a').cache_control).toEqual({ type: 'ephemeral' });
    await post('chat', { model: own, messages: [question, { role: 'assistant', content: 'x' }, question] });
    expect(requestTo('messages-a').cache_control).toEqual({ type: 'ephemeral' });
    await post('chat', { model: own, messages: [question] });
    expect(requestTo('messages-a').cache_control).toBeUndefined();
    const markedContent = [{ type: 'text', text: 'Go', cache_control: { type: 'ephemeral' } }];
    await post('chat', {
      model: own,
      messages: [{ role: 'user', content: markedContent }],
      tools: tools.chat,
    });
    expect(requestTo('messages-a').cache_control).toBeUndefined();
    await post('messages', messagesBody(own, [question]));
    expect(requestTo('messages-a').cache_control).toBeUndefined();
    await post('responses', { model: other, input: 'Go', tools: tools.responses });
    expect(requestTo('messages-b').cache_control).toBeUndefined();
  });

  test('tool call ids have nine characters if the supplier requires it', async () => {
    const model = await modelOn('mistral');
    replies.mistral = () => chatResponse({ content: 'x' }, 'stop');
    const messages = [
      question,
      { role: 'assistant', content: null, tool_calls: [chatToolCall('call_1'), chatToolCall('abcdefghi')] },
      { role: 'tool', tool_call_id: 'call_1', content: 'one' },
      { role: 'tool', tool_call_id: 'abcdefghi', content: 'two' },
    ];
    await post('chat', { model, messages, tools: tools.chat });
    const [, turn, one, two] = requestTo('mistral').messages as Json[];
    const ids = (turn!.tool_calls as Json[]).map(({ id }) => id);
    expect(ids).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/), 'abcdefghi']);
    expect([one!.tool_call_id, two!.tool_call_id]).toEqual(ids);
    const history = [
      question,
      { role: 'assistant', content: [toolUse('toolu_1')] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'one' }] },
    ];
    await post('messages', messagesBody(model, history));
    expect((requestTo('mistral').messages as Json[])[2]!.tool_call_id).toMatch(/^[a-zA-Z0-9]{9}$/);
  });

  test('duplicate tool call ids are made unique', async () => {
    const model = await modelOn('messages-a', 'chat');
    replies.chat = () => chatResponse({ tool_calls: [chatToolCall('call_0'), chatToolCall('call_0')] });
    const first = await post('messages', messagesBody(model, [question]));
    expect(new Set((first.content as Json[]).map(({ id }) => id)).size).toBe(2);
    delete replies.chat;
    replies['messages-a'] = () => messagesResponse([{ type: 'text', text: 'x' }]);
    const history = [
      question,
      { role: 'assistant', content: null, tool_calls: [chatToolCall('call_0'), chatToolCall('call_0')] },
      { role: 'tool', tool_call_id: 'call_0', content: 'one' },
      { role: 'tool', tool_call_id: 'call_0', content: 'two' },
    ];
    expect(await post('chat', { model, messages: history, tools: tools.chat })).toMatchObject({
      status: 200,
    });
    const blocks = blocksIn(requestTo('messages-a'));
    const ids = blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []));
    expect(new Set(ids).size).toBe(2);
    expect(
      blocks.flatMap(({ tool_use_id: id, content }) => (id === undefined ? [] : [[id, content]])),
    ).toEqual([
      [ids[0], 'one'],
      [ids[1], 'two'],
    ]);
  });

  test('response that the supplier marks as failed returns 502', async () => {
    const model = await modelOn('chat');
    replies.chat = () => chatResponse({ content: 'Half an' }, 'error');
    expect(await post('responses', { model, input: 'Go' })).toMatchObject({ status: 502 });
    expect(await post('messages', messagesBody(model, [question]))).toMatchObject({ status: 502 });
  });

  test('conversation that is empty after conversion returns 400 without a supplier call', async () => {
    const model = await modelOn('chat');
    replies.chat = () => chatResponse({ content: 'x' }, 'stop');
    const requestsBefore = suppliers.chat!.requests.length;
    const input = [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc' }];
    const answer = await post('responses', { model, input });
    expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_request', param: 'input' } });
    expect(suppliers.chat!.requests.length).toBe(requestsBefore);
  });
});
