import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { type ReceivedRequest, type ScriptedAnswer, ScriptedSupplier } from '../../support/scripted-supplier';
import { eventsIn } from '../../support/sse-spellings';
import { ModelShelf } from './model-shelf';
import { bareUsage, chunk, data, type Json, messageStart, named, valueOf } from './streams/stream-house';

const calls = [
  ['call_1', 'Bash', { command: 'ls' }],
  ['call_2', 'Bash', { command: 'rm -rf /' }],
] as const;
const usage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };
const chatCalls = calls.map(([id, name, input], index) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
}));
const chatWhole = (message: Json, finish: string): Json => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'theirs',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
  usage,
});
const blocks = calls.map(([id, name, input]) => ({ type: 'tool_use', id, name, input }));
const messagesWhole = { ...messageStart.message, content: blocks, stop_reason: 'tool_use' };

const answers: Readonly<Record<string, ScriptedAnswer>> = {
  'chat false': { body: chatWhole({ content: null, tool_calls: chatCalls }, 'tool_calls') },
  'chat true': {
    headers: { 'content-type': 'text/event-stream' },
    body: data(
      chunk({ role: 'assistant', tool_calls: chatCalls }),
      chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
      bareUsage(5),
      '[DONE]',
    ),
  },
  'messages false': { body: messagesWhole },
  'messages true': {
    headers: { 'content-type': 'text/event-stream' },
    body: named(
      messageStart,
      ...blocks.flatMap(({ input, ...block }, index) => [
        { type: 'content_block_start', index, content_block: { ...block, input: {} } },
        {
          type: 'content_block_delta',
          index,
          delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
        },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ),
  },
};

const says = (content: string, finish = 'stop'): ScriptedAnswer => ({ body: chatWhole({ content }, finish) });
const flagsRemovals = ({ body }: ReceivedRequest): ScriptedAnswer => {
  const { messages } = JSON.parse(body) as { messages: { content: string }[] };
  const { tool_calls: reviewed } = JSON.parse(messages.at(-1)!.content) as {
    tool_calls: { id: string; input: string }[];
  };
  const idsWith = (isFlagged: boolean): string[] =>
    reviewed.filter(({ input }) => input.includes('rm -rf') === isFlagged).map(({ id }) => id);
  return says(
    `\`\`\`json\n${JSON.stringify({ flagged: idsWith(true), not_flagged: idsWith(false) })}\n\`\`\``,
  );
};

describe('safeguards with SAFEGUARDS_MODEL', () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;
  let judge: ScriptedSupplier;
  let shelf: ModelShelf;

  beforeAll(async () => {
    [supplier, judge] = [await ScriptedSupplier.start(), await ScriptedSupplier.start()];
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', SAFEGUARDS_MODEL: 'judge' } });
    shelf = new ModelShelf(app);
    const providers = { chat: supplier, messages: supplier, judges: judge };
    for (const [name, { url: baseUrl }] of Object.entries(providers)) {
      const isMessages = name === 'messages';
      const kind = isMessages ? 'header' : 'bearer';
      await shelf.provider({
        name,
        style: isMessages ? 'messages-style' : 'openai-style',
        baseUrl,
        credentials: [{ label: 'key', kind, secret: 'their-key' }],
      });
    }
    for (const provider of ['chat', 'messages'])
      await shelf.model(`on-${provider}`, [{ provider, upstreamModel: 'theirs' }]);
    await shelf.model('judge', [{ provider: 'judges', upstreamModel: 'their-judge' }]);
  });
  beforeEach(() => {
    judge.answer = flagsRemovals;
    judge.heard.length = 0;
    supplier.heard.length = 0;
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([supplier.stop(), judge.stop()]);
  });

  const ask = async (provider: string, stream: boolean, extra: Json = {}, key = app.firstKeys?.demo) => {
    supplier.answer = answers[`${provider} ${stream}`]!;
    const answer = await fetch(`${app.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: `on-${provider}`,
        max_tokens: 100,
        stream,
        messages: [{ role: 'user', content: 'List the files' }],
        tools: [{ name: 'Bash', input_schema: { type: 'object' } }],
        safeguards: [{ type: 'dangerous_tool_use', classifier_context: { v: 1 } }],
        ...extra,
      }),
    });
    const text = await answer.text();
    return { answer, text };
  };
  const statusIn = (text: string, stream: boolean): unknown => {
    const holder = stream
      ? (eventsIn(text)
          .map(valueOf)
          .find(({ type }) => type === 'message_delta')?.delta as Json)
      : (JSON.parse(text) as Json);
    const [{ type, status }] = holder.safeguard_results as [Json];
    expect(type).toBe('dangerous_tool_use');
    return status;
  };
  const both = (verdict: Json): Json => ({ call_1: verdict, call_2: verdict });
  const cases = ['chat', 'messages'].flatMap((provider) =>
    [false, true].map((stream) => [provider, stream] as const),
  );

  test.each(cases)('judge each tool call of a lane of %s, stream %s', async (provider, stream) => {
    const { answer, text } = await ask(provider, stream);
    expect(answer.status).toBe(200);
    expect(statusIn(text, stream)).toEqual({
      type: 'available',
      tool_uses: {
        call_1: { type: 'evaluated', outcome: 'not_flagged' },
        call_2: { type: 'evaluated', outcome: 'flagged' },
      },
    });
    expect(supplier.heard[0]!.body).not.toContain('safeguards');
    expect([answer.headers.get('x-svc-dropped'), text.includes('"stop_reason":"tool_use"')]).toEqual([
      null,
      true,
    ]);
  });

  test('the review is priced and on record for the same key, which has one place and another model', async () => {
    const limits = { allowedModels: ['on-chat'], maxParallel: 1 };
    const { key, keyId } = await addCustomer(app, 'reviewed', 10n ** 12n, limits);
    const { text } = await ask('chat', true, {}, key);
    expect(text).toContain('"outcome":"not_flagged"');
    const records = await app.database.query<{ model: string; cost: string }>(
      'SELECT model, cost_nano::text AS cost FROM request_record WHERE key_id = $1 ORDER BY model',
      [keyId],
    );
    // 11 tokens at $1 and 5 at $2 a million, each.
    expect(records).toEqual([
      { model: 'judge', cost: '21000' },
      { model: 'on-chat', cost: '21000' },
    ]);
  });

  const failures: [string, ScriptedAnswer, string][] = [
    ['fails', { status: 500, body: { error: { message: 'down' } } }, 'error'],
    ['refuses', { status: 400, body: { error: { message: 'no', code: 'content_filter' } } }, 'refused'],
    ['says no JSON', says('All of them look fine to me.'), 'input_unparsed'],
    ['says not_flagged outside of a list', says('{"flagged": [], "not_flagged": "all"}'), 'input_unparsed'],
    ['is cut off', says('{"flagged": [], "not_flagged": ["call_1", "call_2"]}', 'length'), 'truncated'],
    ['forgets the calls', says('{"flagged": [], "not_flagged": ["call_9"]}'), 'error'],
  ];
  test.each(failures)('a judge that %s clears no call', async (_what, answer, reason) => {
    judge.answer = answer;
    for (const stream of [false, true]) {
      const { text } = await ask('chat', stream);
      expect(statusIn(text, stream)).toEqual({
        type: 'available',
        tool_uses: both({ type: 'unavailable', reason }),
      });
    }
  });

  test('a call that is flagged and cleared is flagged', async () => {
    const all = ['call_1', 'call_2'];
    judge.answer = says(JSON.stringify({ flagged: all, not_flagged: all }));
    expect(statusIn((await ask('chat', false)).text, false)).toEqual({
      type: 'available',
      tool_uses: both({ type: 'evaluated', outcome: 'flagged' }),
    });
  });

  test('a judge outside of the regions of the key is not asked', async () => {
    await shelf.model('judge', [{ provider: 'judges', upstreamModel: 'their-judge', region: 'us' }]);
    await shelf.model('on-chat', [{ provider: 'chat', upstreamModel: 'theirs', region: 'eu' }]);
    const { key } = await addCustomer(app, 'european', 10n ** 12n, { allowedRegions: ['eu'] });
    const { text } = await ask('chat', false, {}, key);
    expect([statusIn(text, false), judge.heard]).toEqual([
      { type: 'available', tool_uses: both({ type: 'unavailable', reason: 'error' }) },
      [],
    ]);
    await shelf.model('judge', [{ provider: 'judges', upstreamModel: 'their-judge' }]);
  });

  test('a request for another safeguard is refused by name as before', async () => {
    const { answer, text } = await ask('chat', false, { safeguards: [{ type: 'unheard_of' }] });
    expect([answer.status, text.includes('safeguards'), judge.heard]).toEqual([400, true, []]);
  });

  test('a request without safeguards is not reviewed', async () => {
    const { text } = await ask('chat', false, { safeguards: undefined });
    expect([text.includes('safeguard_results'), judge.heard]).toEqual([false, []]);
  });
});
