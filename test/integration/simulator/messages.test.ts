import { startSimulator, type Simulator } from '../../support/simulator';
import { call, eventsOf, framesOf, jsonOf, messagesTools, type RawResponse } from './client';

interface MessagesBlock {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  id?: string;
  name?: string;
  input?: unknown;
}
interface MessagesMessage {
  id: string;
  type: string;
  content: MessagesBlock[];
  stop_reason: string;
  stop_sequence: string | null;
  usage: Record<string, unknown>;
}
interface MessagesEvent {
  type: string;
  index?: number;
  message?: MessagesMessage;
  content_block?: MessagesBlock;
  delta?: Record<string, string>;
  usage?: Record<string, unknown>;
}

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

function sendMessage(content: unknown, more: object = {}): Promise<RawResponse> {
  const body = { model: 'sim-small', max_tokens: 4000, messages: [{ role: 'user', content }], ...more };
  return call(`${simulator.url}/v1/messages`, body);
}

/** Assembles a stream and checks the order of its events. */
function assembleStream(response: RawResponse): Pick<MessagesMessage, 'content' | 'stop_reason' | 'usage'> {
  const content: MessagesBlock[] = [];
  const inputs: string[] = [];
  let openIndex = -1;
  let stopReason = '';
  let usage: Record<string, unknown> = {};
  for (const event of eventsOf<MessagesEvent>(response)) {
    switch (event.type) {
      case 'message_start':
        usage = event.message?.usage ?? {};
        break;
      case 'content_block_start':
        expect([openIndex, event.index]).toEqual([-1, content.length]);
        openIndex = event.index ?? -1;
        content.push({ ...event.content_block, type: event.content_block?.type ?? '' });
        break;
      case 'content_block_delta': {
        expect(event.index).toBe(openIndex);
        const block = content[openIndex];
        const { text, thinking, signature, partial_json: json } = event.delta ?? {};
        if (block && text !== undefined) block.text += text;
        if (block && thinking !== undefined) block.thinking += thinking;
        if (block && signature !== undefined) block.signature += signature;
        if (json !== undefined) inputs[openIndex] = (inputs[openIndex] ?? '') + json;
        break;
      }
      case 'content_block_stop': {
        const block = content[openIndex];
        if (block?.type === 'tool_use') block.input = JSON.parse(inputs[openIndex] || '{}');
        openIndex = -1;
        break;
      }
      case 'message_delta':
        stopReason = event.delta?.['stop_reason'] ?? '';
        usage = { ...usage, ...event.usage };
        break;
    }
  }
  return { content, stop_reason: stopReason, usage };
}

test('a stream equals the non-streaming response and follows the event order of the API', async () => {
  const prompt = 'hello [[think=3]] [[tokens=8]]';
  const message = jsonOf<MessagesMessage>(await sendMessage(prompt));
  const response = await sendMessage(prompt, { stream: true });
  expect(message).toMatchObject({ type: 'message', stop_reason: 'end_turn', stop_sequence: null });
  expect(message.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
  expect(assembleStream(response)).toEqual({
    content: message.content,
    stop_reason: message.stop_reason,
    usage: message.usage,
  });
  const names = framesOf(response).map(({ event }) => event);
  expect(names).toEqual(eventsOf<MessagesEvent>(response).map(({ type }) => type));
  expect([names[0], ...names.slice(-2)]).toEqual(['message_start', 'message_delta', 'message_stop']);
});

test('usage reports cache reads and writes separately from the input', async () => {
  const prompt = 'hello [[cached=512]] [[cache-write=100]] [[tokens=4]]';
  const { usage } = jsonOf<MessagesMessage>(await sendMessage(prompt));
  expect(usage).toMatchObject({
    input_tokens: Math.ceil(prompt.length / 4),
    cache_read_input_tokens: 512,
    cache_creation_input_tokens: 100,
    output_tokens: 4,
  });
});

test('several tool calls become consecutive blocks, and an empty input becomes one empty delta', async () => {
  const message = jsonOf<MessagesMessage>(await sendMessage('go [[tools=2]]', { tools: messagesTools }));
  const streamedMessage = assembleStream(
    await sendMessage('go [[tools=2]]', { tools: messagesTools, stream: true }),
  );
  expect(message.stop_reason).toBe('tool_use');
  expect(message.content.map(({ name, input }) => ({ name, input }))).toEqual([
    { name: 'get_weather', input: { city: 'sim', days: 2 } },
    { name: 'get_time', input: { zone: 'utc' } },
  ]);
  expect(streamedMessage.content).toEqual(message.content);
  const emptyInput = await sendMessage('go [[tools=1]] [[empty-args]]', {
    tools: messagesTools,
    stream: true,
  });
  const jsonDeltas = eventsOf<MessagesEvent>(emptyInput).flatMap(
    ({ delta }) => delta?.['partial_json'] ?? [],
  );
  expect(jsonDeltas).toEqual(['']);
});

test('a conversation with tools and signed thinking ends after the results', async () => {
  const question = { role: 'user', content: 'go [[tools=2]] [[think]]' };
  const first = jsonOf<MessagesMessage>(await sendMessage(question.content, { tools: messagesTools }));
  const ids = first.content.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
  const results = ids.map((id, index) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: `result ${index}`,
  }));
  const messages = [
    question,
    { role: 'assistant', content: first.content },
    { role: 'user', content: [...results, { type: 'text', text: 'and now?' }] },
  ];
  const second = jsonOf<MessagesMessage>(await sendMessage('', { tools: messagesTools, messages }));
  expect(second.stop_reason).toBe('end_turn');
  expect(second.content.at(-1)?.text).toBe('The tools answered: result 0; result 1.');
});

test('a prompt can request several rounds of tool calls', async () => {
  const messages: unknown[] = [{ role: 'user', content: 'go [[steps=3]]' }];
  const stops: string[] = [];
  const ids = new Set<string | undefined>();
  for (let round = 0; round < 4; round++) {
    const answer = jsonOf<MessagesMessage>(await sendMessage('', { tools: messagesTools, messages }));
    stops.push(answer.stop_reason);
    const toolUse = answer.content.find(({ type }) => type === 'tool_use');
    if (!toolUse) break;
    ids.add(toolUse.id);
    messages.push({ role: 'assistant', content: answer.content });
    messages.push({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: toolUse.id, content: 'ok' }],
    });
  }
  expect(stops).toEqual(['tool_use', 'tool_use', 'tool_use', 'end_turn']);
  expect(ids.size).toBe(3);
});

test('stop_reason reports the token limit, a stop sequence and a refusal', async () => {
  expect(jsonOf<MessagesMessage>(await sendMessage('[[tokens=9]]', { max_tokens: 4 }))).toMatchObject({
    stop_reason: 'max_tokens',
    usage: { output_tokens: 4 },
  });
  expect(
    jsonOf<MessagesMessage>(await sendMessage('[[echo=one two]]', { stop_sequences: [' two'] })),
  ).toMatchObject({
    stop_reason: 'stop_sequence',
    stop_sequence: ' two',
    content: [{ type: 'text', text: 'one' }],
  });
  expect(jsonOf<MessagesMessage>(await sendMessage('[[filter=answer]]')).stop_reason).toBe('refusal');
});

test('count_tokens equals the billed input tokens', async () => {
  const messages = [{ role: 'user', content: 'hello there [[cached=20]]' }];
  const request = { model: 'sim-small', system: 'Be brief.', tools: messagesTools, messages };
  const tokenCount = jsonOf<{ input_tokens: number }>(
    await call(`${simulator.url}/v1/messages/count_tokens`, request),
  );
  const { usage } = jsonOf<MessagesMessage>(
    await call(`${simulator.url}/v1/messages`, { ...request, max_tokens: 50 }),
  );
  const characters = 'hello there [[cached=20]]Be brief.'.length + JSON.stringify(messagesTools).length;
  expect(tokenCount).toEqual({ input_tokens: Math.ceil(characters / 4) + 20 });
  expect(Number(usage['input_tokens']) + Number(usage['cache_read_input_tokens'])).toBe(
    tokenCount.input_tokens,
  );
});

test('a schema in output_config is followed', async () => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
  const answer = jsonOf<MessagesMessage>(
    await sendMessage('give', { output_config: { format: { type: 'json_schema', schema } } }),
  );
  expect(JSON.parse(answer.content[0]?.text ?? '')).toEqual({ ok: false });
});
