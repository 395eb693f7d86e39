import { startSimulator, type Simulator } from '../../support/simulator';
import { call, eventsOf, framesOf, jsonOf, messagesTools, type Seen } from './client';

interface Block {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  id?: string;
  name?: string;
  input?: unknown;
}
interface Message {
  id: string;
  type: string;
  content: Block[];
  stop_reason: string;
  stop_sequence: string | null;
  usage: Record<string, unknown>;
}
interface Event {
  type: string;
  index?: number;
  message?: Message;
  content_block?: Block;
  delta?: Record<string, string>;
  usage?: Record<string, unknown>;
}

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

function say(content: unknown, more: object = {}): Promise<Seen> {
  const body = { model: 'sim-small', max_tokens: 4000, messages: [{ role: 'user', content }], ...more };
  return call(`${simulator.url}/v1/messages`, body);
}

/** Puts a stream back together, and insists on the order of its events. */
function assembled(seen: Seen): Pick<Message, 'content' | 'stop_reason' | 'usage'> {
  const content: Block[] = [];
  const inputs: string[] = [];
  let open = -1;
  let stopReason = '';
  let usage: Record<string, unknown> = {};
  for (const event of eventsOf<Event>(seen)) {
    switch (event.type) {
      case 'message_start':
        usage = event.message?.usage ?? {};
        break;
      case 'content_block_start':
        expect([open, event.index]).toEqual([-1, content.length]);
        open = event.index ?? -1;
        content.push({ ...event.content_block, type: event.content_block?.type ?? '' });
        break;
      case 'content_block_delta': {
        expect(event.index).toBe(open);
        const block = content[open];
        const { text, thinking, signature, partial_json: json } = event.delta ?? {};
        if (block && text !== undefined) block.text += text;
        if (block && thinking !== undefined) block.thinking += thinking;
        if (block && signature !== undefined) block.signature += signature;
        if (json !== undefined) inputs[open] = (inputs[open] ?? '') + json;
        break;
      }
      case 'content_block_stop': {
        const block = content[open];
        if (block?.type === 'tool_use') block.input = JSON.parse(inputs[open] || '{}');
        open = -1;
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

test('a stream says the same as the whole answer, in the order of the style', async () => {
  const prompt = 'hello [[think=3]] [[tokens=8]]';
  const whole = jsonOf<Message>(await say(prompt));
  const seen = await say(prompt, { stream: true });
  expect(whole).toMatchObject({ type: 'message', stop_reason: 'end_turn', stop_sequence: null });
  expect(whole.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
  expect(assembled(seen)).toEqual({
    content: whole.content,
    stop_reason: whole.stop_reason,
    usage: whole.usage,
  });
  const names = framesOf(seen).map(({ event }) => event);
  expect(names).toEqual(eventsOf<Event>(seen).map(({ type }) => type));
  expect([names[0], ...names.slice(-2)]).toEqual(['message_start', 'message_delta', 'message_stop']);
});

test('usage keeps cache reads and writes apart from the input', async () => {
  const prompt = 'hello [[cached=512]] [[cache-write=100]] [[tokens=4]]';
  const { usage } = jsonOf<Message>(await say(prompt));
  expect(usage).toMatchObject({
    input_tokens: Math.ceil(prompt.length / 4),
    cache_read_input_tokens: 512,
    cache_creation_input_tokens: 100,
    output_tokens: 4,
  });
});

test('several tools become blocks one after the other, an empty input only an empty piece', async () => {
  const whole = jsonOf<Message>(await say('go [[tools=2]]', { tools: messagesTools }));
  const streamed = assembled(await say('go [[tools=2]]', { tools: messagesTools, stream: true }));
  expect(whole.stop_reason).toBe('tool_use');
  expect(whole.content.map(({ name, input }) => ({ name, input }))).toEqual([
    { name: 'get_weather', input: { city: 'sim', days: 2 } },
    { name: 'get_time', input: { zone: 'utc' } },
  ]);
  expect(streamed.content).toEqual(whole.content);
  const empty = await say('go [[tools=1]] [[empty-args]]', { tools: messagesTools, stream: true });
  const pieces = eventsOf<Event>(empty).flatMap(({ delta }) => delta?.['partial_json'] ?? []);
  expect(pieces).toEqual(['']);
});

test('a conversation with tools and signed thinking comes to its end', async () => {
  const question = { role: 'user', content: 'go [[tools=2]] [[think]]' };
  const first = jsonOf<Message>(await say(question.content, { tools: messagesTools }));
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
  const second = jsonOf<Message>(await say('', { tools: messagesTools, messages }));
  expect(second.stop_reason).toBe('end_turn');
  expect(second.content.at(-1)?.text).toBe('The tools answered: result 0; result 1.');
});

test('a question may ask for several rounds of tools', async () => {
  const messages: unknown[] = [{ role: 'user', content: 'go [[steps=3]]' }];
  const stops: string[] = [];
  const ids = new Set<string | undefined>();
  for (let round = 0; round < 4; round++) {
    const answer = jsonOf<Message>(await say('', { tools: messagesTools, messages }));
    stops.push(answer.stop_reason);
    const called = answer.content.find(({ type }) => type === 'tool_use');
    if (!called) break;
    ids.add(called.id);
    messages.push({ role: 'assistant', content: answer.content });
    messages.push({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: called.id, content: 'ok' }],
    });
  }
  expect(stops).toEqual(['tool_use', 'tool_use', 'tool_use', 'end_turn']);
  expect(ids.size).toBe(3);
});

test('stop reasons: limit, stop sequence, refusal', async () => {
  expect(jsonOf<Message>(await say('[[tokens=9]]', { max_tokens: 4 }))).toMatchObject({
    stop_reason: 'max_tokens',
    usage: { output_tokens: 4 },
  });
  expect(jsonOf<Message>(await say('[[echo=one two]]', { stop_sequences: [' two'] }))).toMatchObject({
    stop_reason: 'stop_sequence',
    stop_sequence: ' two',
    content: [{ type: 'text', text: 'one' }],
  });
  expect(jsonOf<Message>(await say('[[filter=answer]]')).stop_reason).toBe('refusal');
});

test('count_tokens counts what the answer bills', async () => {
  const messages = [{ role: 'user', content: 'hello there [[cached=20]]' }];
  const request = { model: 'sim-small', system: 'Be brief.', tools: messagesTools, messages };
  const counted = jsonOf<{ input_tokens: number }>(
    await call(`${simulator.url}/v1/messages/count_tokens`, request),
  );
  const { usage } = jsonOf<Message>(
    await call(`${simulator.url}/v1/messages`, { ...request, max_tokens: 50 }),
  );
  const characters = 'hello there [[cached=20]]Be brief.'.length + JSON.stringify(messagesTools).length;
  expect(counted).toEqual({ input_tokens: Math.ceil(characters / 4) + 20 });
  expect(Number(usage['input_tokens']) + Number(usage['cache_read_input_tokens'])).toBe(counted.input_tokens);
});

test('a schema in output_config is obeyed', async () => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
  const answer = jsonOf<Message>(
    await say('give', { output_config: { format: { type: 'json_schema', schema } } }),
  );
  expect(JSON.parse(answer.content[0]?.text ?? '')).toEqual({ ok: false });
});
