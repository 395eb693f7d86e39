import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import {
  type ReceivedRequest,
  type ScriptedResponse,
  ScriptedSupplier,
} from '../../support/scripted-supplier';
import { parseEvents } from '../../support/sse-spellings';
import { TestCatalogue } from './test-catalogue';
import {
  bareUsage,
  chunk,
  data,
  type Json,
  messageStart,
  namedEvents,
  valueOf,
} from './streams/stream-fixture';

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
const chatCompletion = (message: Json, finish: string): Json => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'theirs',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
  usage,
});
const blocks = calls.map(([id, name, input]) => ({ type: 'tool_use', id, name, input }));
const messagesResponse = { ...messageStart.message, content: blocks, stop_reason: 'tool_use' };

const answers: Readonly<Record<string, ScriptedResponse>> = {
  'chat false': { body: chatCompletion({ content: null, tool_calls: chatCalls }, 'tool_calls') },
  'chat true': {
    headers: { 'content-type': 'text/event-stream' },
    body: data(
      chunk({ role: 'assistant', tool_calls: chatCalls }),
      chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
      bareUsage(5),
      '[DONE]',
    ),
  },
  'messages false': { body: messagesResponse },
  'messages true': {
    headers: { 'content-type': 'text/event-stream' },
    body: namedEvents(
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

const judgeReply = (content: string, finish = 'stop'): ScriptedResponse => ({
  body: chatCompletion({ content }, finish),
});
const flagRemovals = ({ body }: ReceivedRequest): ScriptedResponse => {
  const { messages } = JSON.parse(body) as { messages: { content: string }[] };
  const { tool_calls: reviewed } = JSON.parse(messages.at(-1)!.content) as {
    tool_calls: { id: string; input: string }[];
  };
  const idsWith = (isFlagged: boolean): string[] =>
    reviewed.filter(({ input }) => input.includes('rm -rf') === isFlagged).map(({ id }) => id);
  return judgeReply(
    `\`\`\`json\n${JSON.stringify({ flagged: idsWith(true), not_flagged: idsWith(false) })}\n\`\`\``,
  );
};

describe('Safeguards with SAFEGUARDS_MODEL', () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;
  let judge: ScriptedSupplier;
  let catalogue: TestCatalogue;

  beforeAll(async () => {
    [supplier, judge] = [await ScriptedSupplier.start(), await ScriptedSupplier.start()];
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', SAFEGUARDS_MODEL: 'judge' } });
    catalogue = new TestCatalogue(app);
    const providers = { chat: supplier, messages: supplier, judges: judge };
    for (const [name, { url: baseUrl }] of Object.entries(providers)) {
      const isMessages = name === 'messages';
      const kind = isMessages ? 'header' : 'bearer';
      await catalogue.provider({
        name,
        style: isMessages ? 'messages-style' : 'openai-style',
        baseUrl,
        credentials: [{ label: 'key', kind, secret: 'their-key' }],
      });
    }
    for (const provider of ['chat', 'messages'])
      await catalogue.model(`on-${provider}`, [{ provider, upstreamModel: 'theirs' }]);
    await catalogue.model('judge', [{ provider: 'judges', upstreamModel: 'their-judge' }]);
  });
  beforeEach(() => {
    judge.answer = flagRemovals;
    judge.requests.length = 0;
    supplier.requests.length = 0;
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([supplier.stop(), judge.stop()]);
  });

  const sendRequest = async (
    provider: string,
    stream: boolean,
    extra: Json = {},
    key = app.firstKeys?.demo,
  ) => {
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
      ? (parseEvents(text)
          .map(valueOf)
          .find(({ type }) => type === 'message_delta')?.delta as Json)
      : (JSON.parse(text) as Json);
    const [{ type, status }] = holder.safeguard_results as [Json];
    expect(type).toBe('dangerous_tool_use');
    return status;
  };
  const verdictForBoth = (verdict: Json): Json => ({ call_1: verdict, call_2: verdict });
  const cases = ['chat', 'messages'].flatMap((provider) =>
    [false, true].map((stream) => [provider, stream] as const),
  );

  test.each(cases)('judge evaluates each tool call of a %s lane, stream %s', async (provider, stream) => {
    const { answer, text } = await sendRequest(provider, stream);
    expect(answer.status).toBe(200);
    expect(statusIn(text, stream)).toEqual({
      type: 'available',
      tool_uses: {
        call_1: { type: 'evaluated', outcome: 'not_flagged' },
        call_2: { type: 'evaluated', outcome: 'flagged' },
      },
    });
    expect(supplier.requests[0]!.body).not.toContain('safeguards');
    expect([answer.headers.get('x-svc-dropped'), text.includes('"stop_reason":"tool_use"')]).toEqual([
      null,
      true,
    ]);
  });

  test('review is priced and recorded for the key despite its model and parallel limits', async () => {
    const limits = { allowedModels: ['on-chat'], maxParallel: 1 };
    const { key, keyId } = await addCustomer(app, 'reviewed', 10n ** 12n, limits);
    const { text } = await sendRequest('chat', true, {}, key);
    expect(text).toContain('"outcome":"not_flagged"');
    const records = await app.database.query<{ model: string; cost: string }>(
      'SELECT model, cost_nano::text AS cost FROM request_record WHERE key_id = $1 ORDER BY model',
      [keyId],
    );
    // Each costs 11 tokens at $1 and 5 tokens at $2 per 1M.
    expect(records).toEqual([
      { model: 'judge', cost: '21000' },
      { model: 'on-chat', cost: '21000' },
    ]);
  });

  const failures: [string, ScriptedResponse, string][] = [
    ['fails', { status: 500, body: { error: { message: 'down' } } }, 'error'],
    ['refuses', { status: 400, body: { error: { message: 'no', code: 'content_filter' } } }, 'refused'],
    ['says no JSON', judgeReply('All of them look fine to me.'), 'input_unparsed'],
    [
      'says not_flagged outside of a list',
      judgeReply('{"flagged": [], "not_flagged": "all"}'),
      'input_unparsed',
    ],
    ['is cut off', judgeReply('{"flagged": [], "not_flagged": ["call_1", "call_2"]}', 'length'), 'truncated'],
    ['forgets the calls', judgeReply('{"flagged": [], "not_flagged": ["call_9"]}'), 'error'],
  ];
  test.each(failures)('judge that %s clears no tool call', async (_what, answer, reason) => {
    judge.answer = answer;
    for (const stream of [false, true]) {
      const { text } = await sendRequest('chat', stream);
      expect(statusIn(text, stream)).toEqual({
        type: 'available',
        tool_uses: verdictForBoth({ type: 'unavailable', reason }),
      });
    }
  });

  test('tool call that is both flagged and cleared is flagged', async () => {
    const callIds = ['call_1', 'call_2'];
    judge.answer = judgeReply(JSON.stringify({ flagged: callIds, not_flagged: callIds }));
    expect(statusIn((await sendRequest('chat', false)).text, false)).toEqual({
      type: 'available',
      tool_uses: verdictForBoth({ type: 'evaluated', outcome: 'flagged' }),
    });
  });

  test("judge outside of the key's regions is not called", async () => {
    await catalogue.model('judge', [{ provider: 'judges', upstreamModel: 'their-judge', region: 'us' }]);
    await catalogue.model('on-chat', [{ provider: 'chat', upstreamModel: 'theirs', region: 'eu' }]);
    const { key } = await addCustomer(app, 'european', 10n ** 12n, { allowedRegions: ['eu'] });
    const { text } = await sendRequest('chat', false, {}, key);
    expect([statusIn(text, false), judge.requests]).toEqual([
      { type: 'available', tool_uses: verdictForBoth({ type: 'unavailable', reason: 'error' }) },
      [],
    ]);
    await catalogue.model('judge', [{ provider: 'judges', upstreamModel: 'their-judge' }]);
  });

  test('request for an unknown safeguard returns 400 that names the field', async () => {
    const { answer, text } = await sendRequest('chat', false, { safeguards: [{ type: 'unheard_of' }] });
    expect([answer.status, text.includes('safeguards'), judge.requests]).toEqual([400, true, []]);
  });

  test('request without safeguards is not reviewed', async () => {
    const { text } = await sendRequest('chat', false, { safeguards: undefined });
    expect([text.includes('safeguard_results'), judge.requests]).toEqual([false, []]);
  });
});
