import { startTestApp, type TestApp } from '../../support/app';
import { type ReceivedRequest, ScriptedSupplier } from '../../support/scripted-supplier';
import { ModelShelf } from './model-shelf';

type Json = Record<string, unknown>;
type Say = (request: ReceivedRequest) => object | number;

const tools = {
  messages: [{ name: 'act', input_schema: { type: 'object', properties: {} } }],
  responses: [{ type: 'function', name: 'act', parameters: { type: 'object', properties: {} } }],
  chat: [{ type: 'function', function: { name: 'act', parameters: { type: 'object', properties: {} } } }],
};
const messagesAnswer = (content: object[]): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'up',
  content,
  stop_reason: content.some((block) => 'input' in block) ? 'tool_use' : 'end_turn',
  usage: { input_tokens: 10, output_tokens: 5 },
});
const thinking = (text: string, signature: string): object => ({
  type: 'thinking',
  thinking: text,
  signature,
});
const use = (id: string): object => ({ type: 'tool_use', id, name: 'act', input: {} });
const chatAnswer = (message: object, reason = 'tool_calls'): object => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: reason }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});
const chatCall = (id: string): object => ({
  id,
  type: 'function',
  function: { name: 'act', arguments: '{}' },
});
const responsesAnswer = (output: object[]): object => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'up',
  output,
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
});
const refused = {
  type: 'error',
  error: { type: 'invalid_request_error', message: 'messages.1: Invalid `signature`' },
};

describe('reasoning and lanes', () => {
  let app: TestApp;
  let shelf: ModelShelf;
  const suppliers: Record<string, ScriptedSupplier> = {};
  const saying: Record<string, Say> = {};
  let made = 0;

  const kinds = {
    'messages-a': { style: 'messages-style', settings: { profile: 'anthropic' } },
    'messages-b': { style: 'messages-style', settings: {} },
    chat: { style: 'openai-style', settings: {} },
    mistral: { style: 'openai-style', settings: { profile: 'mistral' } },
    'openai-a': { style: 'openai-style', settings: { profile: 'openai' } },
    'openai-b': { style: 'openai-style', settings: { profile: 'openai' } },
  } as const;
  type Kind = keyof typeof kinds;

  beforeAll(async () => {
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8', LANE_FAILURES: '50' } });
    shelf = new ModelShelf(app);
    for (const [name, { style, settings }] of Object.entries(kinds)) {
      const supplier = (suppliers[name] = await ScriptedSupplier.start());
      const kind = style === 'openai-style' ? ('bearer' as const) : ('header' as const);
      await shelf.provider({
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
      delete saying[name];
      supplier.answer = (request) => {
        const said = saying[name]?.(request) ?? 503;
        if (typeof said === 'number') return { status: said, body: said === 400 ? refused : {} };
        return { body: said };
      };
    }
  });

  const modelOn = async (...lanes: Kind[]): Promise<string> => {
    const name = `lanes-${(made += 1)}`;
    await shelf.model(
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
  const heard = (name: Kind, back = 1): Json => JSON.parse(suppliers[name]!.heard.at(-back)!.body) as Json;
  const blocksIn = (body: Json): Json[] =>
    (body.messages as Json[]).flatMap(({ content }) => (Array.isArray(content) ? (content as Json[]) : []));

  const question = { role: 'user', content: 'Go' };
  const ask = (model: string, messages: object[], rest: object = {}): object => ({
    model,
    max_tokens: 2_000,
    messages,
    tools: tools.messages,
    ...rest,
  });

  test('a turn of a stand-in of chat goes back to a lane of messages without what it would refuse', async () => {
    const model = await modelOn('messages-a', 'chat');
    saying.chat = () =>
      chatAnswer({
        reasoning_content: 'Hmm.',
        tool_calls: [chatCall('functions.act:0'), chatCall('functions.act:1'), chatCall('functions act:1')],
      });
    const first = await post('messages', ask(model, [question]));
    const content = first.content as Json[];
    expect(content.map(({ type }) => type)).toEqual(['thinking', 'tool_use', 'tool_use', 'tool_use']);
    expect(content[0]!.signature).not.toBe('');
    delete saying.chat;
    saying['messages-a'] = () => messagesAnswer([{ type: 'text', text: 'Done' }]);
    const results = content
      .slice(1)
      .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: String(id) }));
    const history = [question, { role: 'assistant', content }, { role: 'user', content: results }];
    const budget = { thinking: { type: 'enabled', budget_tokens: 1_024 } };
    expect(await post('messages', ask(model, history, budget))).toMatchObject({ status: 200 });
    const sent = heard('messages-a');
    const blocks = blocksIn(sent);
    expect(blocks.map(({ type }) => type)).not.toContain('thinking');
    const ids = blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [String(id)] : []));
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    const answered = blocks.filter(({ type }) => type === 'tool_result');
    expect(answered.map(({ tool_use_id: id }) => id)).toEqual(ids);
    expect(answered.map(({ content: of }) => of)).toEqual(content.slice(1).map(({ id }) => id));
    // With a budget, the round would have to begin with the lane's own thinking.
    expect(sent.thinking).toBeUndefined();
    // The same history reads the same in every later turn.
    await post('messages', ask(model, [...history, { role: 'assistant', content: 'Done' }, question]));
    expect((heard('messages-a').messages as Json[]).slice(0, 3)).toEqual(sent.messages);
  });

  test('a conversation of one lane goes on byte for byte', async () => {
    const model = await modelOn('messages-a', 'chat');
    saying['messages-a'] = () => messagesAnswer([thinking('Own.', 'sig-own'), use('toolu_1')]);
    const first = await post('messages', ask(model, [question]));
    const body = ask(model, [
      question,
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
    ]);
    expect(await post('messages', body)).toMatchObject({ status: 200 });
    expect(suppliers['messages-a']!.heard.at(-1)!.body).toBe(
      JSON.stringify(body).replace(`"model":"${model}"`, `"model":"up-${model}"`),
    );
  });

  test.each([false, true])(
    'thinking of one account is not shown to another; streamed: %s',
    async (stream) => {
      const model = await modelOn('messages-a', 'messages-b');
      const signature = `sig-of-a-${stream}`;
      const events = [
        { type: 'message_start', message: { ...messagesAnswer([]), stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: thinking('', '') },
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
          : { body: messagesAnswer([thinking('A', signature)]) };
      const response = await fetch(app.url + paths.messages, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
        body: JSON.stringify(ask(model, [question], { stream })),
      });
      expect(await response.text()).toContain(signature);
      suppliers['messages-a']!.answer = () => ({ status: 503, body: {} });
      saying['messages-b'] = () => messagesAnswer([thinking('B', 'sig-of-b'), { type: 'text', text: 'x' }]);
      const content = [thinking('A', signature), { type: 'text', text: 'x' }];
      const history = [question, { role: 'assistant', content }, question];
      await post('messages', ask(model, history));
      expect(suppliers['messages-b']!.heard.at(-1)!.body).not.toContain(signature);
      const longer = [
        ...history,
        { role: 'assistant', content: [thinking('B', 'sig-of-b'), { type: 'text', text: 'x' }] },
        question,
      ];
      await post('messages', ask(model, longer));
      const { body } = suppliers['messages-b']!.heard.at(-1)!;
      expect([body.includes('sig-of-b'), body.includes(signature)]).toEqual([true, false]);
    },
  );

  test('thinking that nobody knows is left out once the lane refuses it, and from then on', async () => {
    suppliers['messages-a']!.answer = (request) => {
      if (request.body.includes('sig-of-a-stranger')) return { status: 400, body: refused };
      return { body: messagesAnswer([{ type: 'text', text: 'Fine' }]) };
    };
    const model = await modelOn('messages-a');
    const history = [
      question,
      { role: 'assistant', content: [thinking('?', 'sig-of-a-stranger'), { type: 'text', text: 'x' }] },
      question,
    ];
    const before = suppliers['messages-a']!.heard.length;
    expect(await post('messages', ask(model, history))).toMatchObject({ status: 200 });
    expect(suppliers['messages-a']!.heard.length - before).toBe(2);
    expect(await post('messages', ask(model, history))).toMatchObject({ status: 200 });
    expect(suppliers['messages-a']!.heard.length - before).toBe(3);
    // A request that it refuses anyhow stays refused, after one more try.
    suppliers['messages-a']!.answer = () => ({ status: 400, body: refused });
    const another = JSON.parse(JSON.stringify(history).replace('stranger', 'second stranger')) as object[];
    expect(await post('messages', ask(model, another))).toMatchObject({ status: 400 });
    expect(suppliers['messages-a']!.heard.length - before).toBe(5);
    expect(await post('messages', ask(model, [question]))).toMatchObject({ status: 400 });
    expect(suppliers['messages-a']!.heard.length - before).toBe(6);
  });

  test('encrypted reasoning of one account is left out of what another gets', async () => {
    const model = await modelOn('openai-a', 'openai-b');
    saying['openai-a'] = () =>
      responsesAnswer([
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
    expect(suppliers['openai-a']!.heard.at(-1)!.body).toContain('enc-of-a');
    delete saying['openai-a'];
    saying['openai-b'] = () => responsesAnswer([{ type: 'message', role: 'assistant', content: [] }]);
    expect(await post('responses', { model, input, tools: tools.responses })).toMatchObject({ status: 200 });
    expect(suppliers['openai-b']!.heard.at(-1)!.body).not.toContain('enc-of-a');
    expect(suppliers['openai-b']!.heard.at(-1)!.body).toContain('call_1');
  });

  test('thinking of a lane of messages goes through the tool rounds of a responses caller', async () => {
    const model = await modelOn('messages-a', 'messages-b');
    saying['messages-a'] = () => messagesAnswer([thinking('Think.', 'sig-think'), use('toolu_1')]);
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
    const sent = heard('messages-a');
    expect(blocksIn(sent)[0]).toEqual(thinking('Think.', 'sig-think'));
    expect(sent.thinking).toMatchObject({ type: 'adaptive' });
    // A text that was changed has no signature.
    const changed = JSON.parse(JSON.stringify(input).replace('Think.', 'Thought.')) as object[];
    await post('responses', { model, input: changed, ...rest });
    expect(suppliers['messages-a']!.heard.at(-1)!.body).not.toContain('sig-think');
    delete saying['messages-a'];
    saying['messages-b'] = () => messagesAnswer([{ type: 'text', text: 'x' }]);
    await post('responses', { model, input, ...rest });
    expect(suppliers['messages-b']!.heard.at(-1)!.body).not.toContain('sig-think');
    expect(heard('messages-b').thinking).toBeUndefined();
  });

  test('what comes again with the next turn is marked for the cache where the supplier takes the mark', async () => {
    for (const name of ['messages-a', 'messages-b'] as const)
      suppliers[name]!.answer = () => ({ body: messagesAnswer([{ type: 'text', text: 'x' }]) });
    const [own, other] = [await modelOn('messages-a'), await modelOn('messages-b')];
    await post('responses', { model: own, input: 'Go', tools: tools.responses });
    expect(heard('messages-a').cache_control).toEqual({ type: 'ephemeral' });
    await post('chat', { model: own, messages: [question, { role: 'assistant', content: 'x' }, question] });
    expect(heard('messages-a').cache_control).toEqual({ type: 'ephemeral' });
    await post('chat', { model: own, messages: [question] });
    expect(heard('messages-a').cache_control).toBeUndefined();
    const marked = [{ type: 'text', text: 'Go', cache_control: { type: 'ephemeral' } }];
    await post('chat', { model: own, messages: [{ role: 'user', content: marked }], tools: tools.chat });
    expect(heard('messages-a').cache_control).toBeUndefined();
    await post('messages', ask(own, [question]));
    expect(heard('messages-a').cache_control).toBeUndefined();
    await post('responses', { model: other, input: 'Go', tools: tools.responses });
    expect(heard('messages-b').cache_control).toBeUndefined();
  });

  test('ids of calls have nine letters where the supplier wants that', async () => {
    const model = await modelOn('mistral');
    saying.mistral = () => chatAnswer({ content: 'x' }, 'stop');
    const messages = [
      question,
      { role: 'assistant', content: null, tool_calls: [chatCall('call_1'), chatCall('abcdefghi')] },
      { role: 'tool', tool_call_id: 'call_1', content: 'one' },
      { role: 'tool', tool_call_id: 'abcdefghi', content: 'two' },
    ];
    await post('chat', { model, messages, tools: tools.chat });
    const [, turn, one, two] = heard('mistral').messages as Json[];
    const ids = (turn!.tool_calls as Json[]).map(({ id }) => id);
    expect(ids).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/), 'abcdefghi']);
    expect([one!.tool_call_id, two!.tool_call_id]).toEqual(ids);
    const history = [
      question,
      { role: 'assistant', content: [use('toolu_1')] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'one' }] },
    ];
    await post('messages', ask(model, history));
    expect((heard('mistral').messages as Json[])[2]!.tool_call_id).toMatch(/^[a-zA-Z0-9]{9}$/);
  });

  test('two calls of one id', async () => {
    const model = await modelOn('messages-a', 'chat');
    saying.chat = () => chatAnswer({ tool_calls: [chatCall('call_0'), chatCall('call_0')] });
    const first = await post('messages', ask(model, [question]));
    expect(new Set((first.content as Json[]).map(({ id }) => id)).size).toBe(2);
    delete saying.chat;
    saying['messages-a'] = () => messagesAnswer([{ type: 'text', text: 'x' }]);
    const history = [
      question,
      { role: 'assistant', content: null, tool_calls: [chatCall('call_0'), chatCall('call_0')] },
      { role: 'tool', tool_call_id: 'call_0', content: 'one' },
      { role: 'tool', tool_call_id: 'call_0', content: 'two' },
    ];
    expect(await post('chat', { model, messages: history, tools: tools.chat })).toMatchObject({
      status: 200,
    });
    const blocks = blocksIn(heard('messages-a'));
    const ids = blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []));
    expect(new Set(ids).size).toBe(2);
    expect(
      blocks.flatMap(({ tool_use_id: id, content }) => (id === undefined ? [] : [[id, content]])),
    ).toEqual([
      [ids[0], 'one'],
      [ids[1], 'two'],
    ]);
  });

  test('an answer that its supplier calls broken is none', async () => {
    const model = await modelOn('chat');
    saying.chat = () => chatAnswer({ content: 'Half an' }, 'error');
    expect(await post('responses', { model, input: 'Go' })).toMatchObject({ status: 502 });
    expect(await post('messages', ask(model, [question]))).toMatchObject({ status: 502 });
  });

  test('a conversation of which nothing is left is refused before anyone is asked', async () => {
    const model = await modelOn('chat');
    saying.chat = () => chatAnswer({ content: 'x' }, 'stop');
    const before = suppliers.chat!.heard.length;
    const input = [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc' }];
    const answer = await post('responses', { model, input });
    expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_request', param: 'input' } });
    expect(suppliers.chat!.heard.length).toBe(before);
  });
});
