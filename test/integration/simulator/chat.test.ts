import { countTokens } from '../../../simulator/tokens';
import { startSimulator, type Simulator } from '../../support/simulator';
import { call, chatTools, eventsOf, framesOf, jsonOf, type RawResponse } from './client';

interface ChatToolCallDelta {
  index: number;
  id?: string;
  function: { name?: string; arguments: string };
}
interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
  completion_tokens_details: { reasoning_tokens: number };
}
interface ChatMessage {
  role: string;
  content: string | null;
  reasoning_content?: string;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
}
interface ChatCompletion {
  id: string;
  object: string;
  choices: { index: number; message: ChatMessage; finish_reason: string }[];
  usage: ChatUsage;
}
interface SimulatorChatChunk {
  id: string;
  object: string;
  choices: {
    index: number;
    delta: { role?: string; content?: string; reasoning_content?: string; tool_calls?: ChatToolCallDelta[] };
    finish_reason: string | null;
  }[];
  usage?: ChatUsage | null;
}

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

function chat(content: unknown, more: object = {}): Promise<RawResponse> {
  const body = { model: 'sim-small', messages: [{ role: 'user', content }], ...more };
  return call(`${simulator.url}/v1/chat/completions`, body);
}

const streaming = { stream: true, stream_options: { include_usage: true } };

/** Assembles a stream as a client library does. */
function assembleStream(response: RawResponse): {
  message: ChatMessage;
  finish: string | null;
  usage: ChatUsage | null | undefined;
} {
  const message: ChatMessage = { role: '', content: null };
  const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
  let finish: string | null = null;
  let usage: ChatUsage | null | undefined;
  for (const chunk of eventsOf<SimulatorChatChunk>(response)) {
    usage = chunk.usage;
    const choice = chunk.choices[0];
    if (!choice) continue;
    finish = choice.finish_reason ?? finish;
    message.role += choice.delta.role ?? '';
    message.content = (message.content ?? '') + (choice.delta.content ?? '');
    for (const delta of choice.delta.tool_calls ?? []) {
      const toolCall = (calls[delta.index] ??= {
        id: '',
        type: 'function',
        function: { name: '', arguments: '' },
      });
      toolCall.id += delta.id ?? '';
      toolCall.function.name += delta.function.name ?? '';
      toolCall.function.arguments += delta.function.arguments;
    }
  }
  if (calls.length > 0) message.tool_calls = calls;
  return { message, finish, usage };
}

test('a non-streaming response has the configured length and matching usage', async () => {
  const prompt = 'Tell me something. [[tokens=60]]';
  const completion = jsonOf<ChatCompletion>(await chat(prompt));
  expect(completion).toMatchObject({
    object: 'chat.completion',
    model: 'sim-small',
    choices: [{ index: 0, message: { role: 'assistant' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: Math.ceil(prompt.length / 4),
      completion_tokens: 60,
      total_tokens: Math.ceil(prompt.length / 4) + 60,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  });
  expect(completion.choices[0]?.message.content?.split(' ')).toHaveLength(60);
});

test('equal requests return identical bytes, and another prompt returns others', async () => {
  const [first, second, other] = await Promise.all([chat('one'), chat('one'), chat('two')]);
  expect(first.bytes.equals(second.bytes)).toBe(true);
  expect(other.bytes.equals(first.bytes)).toBe(false);
  expect(first.headers['x-request-id']).not.toBe(second.headers['x-request-id']);
});

test('a stream equals the non-streaming response, with the role first, usage last and one terminator', async () => {
  const response = await chat('hello [[tokens=9]]', streaming);
  const completion = jsonOf<ChatCompletion>(await chat('hello [[tokens=9]]'));
  const chunks = eventsOf<SimulatorChatChunk>(response);
  expect(response.headers['content-type']).toMatch('text/event-stream');
  expect(framesOf(response).filter(({ data }) => data === '[DONE]')).toHaveLength(1);
  expect(framesOf(response).at(-1)?.data).toBe('[DONE]');
  expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set([completion.id]));
  expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
  expect(chunks.at(-1)?.choices).toEqual([]);
  expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  const { message, finish, usage } = assembleStream(response);
  expect(message.content).toBe(completion.choices[0]?.message.content);
  expect({ finish, usage }).toEqual({ finish: 'stop', usage: completion.usage });
});

test('a stream without include_usage contains no usage', async () => {
  const chunks = eventsOf<SimulatorChatChunk>(await chat('hello', { stream: true }));
  expect(chunks.length).toBeGreaterThan(10);
  expect(chunks.every((chunk) => !('usage' in chunk) && chunk.choices.length === 1)).toBe(true);
});

test('tool call arguments match the schema', async () => {
  const { choices, usage } = jsonOf<ChatCompletion>(
    await chat('go [[tool=get_weather]]', { tools: chatTools }),
  );
  const toolCall = choices[0]?.message.tool_calls?.[0];
  expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
  expect(toolCall).toMatchObject({ type: 'function', function: { name: 'get_weather' } });
  expect(JSON.parse(toolCall?.function.arguments ?? '')).toEqual({ city: 'sim', days: 2 });
  expect(usage.completion_tokens).toBe(countTokens(`get_weather${toolCall?.function.arguments ?? ''}`));
});

test('a prompt can set the arguments of a tool call', async () => {
  const prompt = 'go [[tool=get_weather({"city":"Bern","days":7})]]';
  const { choices } = jsonOf<ChatCompletion>(await chat(prompt, { tools: chatTools }));
  expect(JSON.parse(choices[0]?.message.tool_calls?.[0]?.function.arguments ?? '')).toEqual({
    city: 'Bern',
    days: 7,
  });
});

test.each([
  ['one after the other', '', [0, 0, 0, 0, 1, 1, 1]],
  ['interleaved', '[[interleave]]', [0, 1, 0, 1, 0, 1, 0]],
])('parallel tool calls are streamed %s', async (_name, directive, order) => {
  const prompt = `go [[tool=get_weather({"city":"Aarhus"})]] [[tool=get_time({"zone":"b"})]] ${directive}`;
  const response = await chat(prompt, { tools: chatTools, ...streaming });
  const deltas = eventsOf<SimulatorChatChunk>(response).flatMap(
    ({ choices }) => choices[0]?.delta.tool_calls ?? [],
  );
  expect(deltas.map(({ index }) => index)).toEqual(order);
  const { message, finish } = assembleStream(response);
  expect(finish).toBe('tool_calls');
  expect(message.tool_calls?.map((called) => called.function)).toEqual([
    { name: 'get_weather', arguments: '{"city":"Aarhus"}' },
    { name: 'get_time', arguments: '{"zone":"b"}' },
  ]);
});

test('a tool without parameters gets {} or, like some suppliers, an empty string', async () => {
  for (const [directive, text] of [
    ['[[empty-args]]', '{}'],
    ['[[no-args]]', ''],
  ] as const) {
    const prompt = `go [[tools=1]] ${directive}`;
    const completion = jsonOf<ChatCompletion>(await chat(prompt, { tools: chatTools }));
    const { message } = assembleStream(await chat(prompt, { tools: chatTools, ...streaming }));
    expect(completion.choices[0]?.message.tool_calls?.[0]?.function.arguments).toBe(text);
    expect(message.tool_calls?.[0]?.function.arguments).toBe(text);
  }
});

test('a conversation with tools ends after the results', async () => {
  const question = { role: 'user', content: 'go [[tools=2]]' };
  const first = jsonOf<ChatCompletion>(await chat('go [[tools=2]]', { tools: chatTools }));
  const toolCallMessage = first.choices[0]?.message;
  const results = toolCallMessage?.tool_calls?.map(({ id }, index) => ({
    role: 'tool',
    tool_call_id: id,
    content: `result ${index}`,
  }));
  const messages = [question, toolCallMessage, ...(results ?? [])].map((message) => {
    const { annotations: _annotations, ...kept } = message as { annotations?: unknown };
    return kept;
  });
  const second = jsonOf<ChatCompletion>(await chat('', { tools: chatTools, messages }));
  expect(second.choices[0]).toMatchObject({
    finish_reason: 'stop',
    message: { content: 'The tools answered: result 0; result 1.' },
  });
});

test('tool_choice and parallel_tool_calls control the tool calls', async () => {
  const toolNames = async (prompt: string, more: object): Promise<string[]> =>
    (
      jsonOf<ChatCompletion>(await chat(prompt, { tools: chatTools, ...more })).choices[0]?.message
        .tool_calls ?? []
    ).map((called) => called.function.name);
  const namedChoice = { type: 'function', function: { name: 'get_time' } };
  expect(await toolNames('hello', {})).toEqual([]);
  expect(await toolNames('go [[tools=2]]', { tool_choice: 'none' })).toEqual([]);
  expect(await toolNames('hello', { tool_choice: 'required' })).toEqual(['get_weather']);
  expect(await toolNames('hello', { tool_choice: namedChoice })).toEqual(['get_time']);
  expect(await toolNames('go [[tools=2]]', { parallel_tool_calls: false })).toEqual(['get_weather']);
});

test('a JSON schema is followed in streaming and non-streaming responses', async () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' }, minItems: 1 } },
    required: ['name', 'tags'],
    additionalProperties: false,
  };
  const response_format = { type: 'json_schema', json_schema: { name: 'thing', strict: true, schema } };
  const completion = jsonOf<ChatCompletion>(await chat('give', { response_format }));
  const streamedReply = assembleStream(await chat('give', { response_format, ...streaming }));
  expect(JSON.parse(completion.choices[0]?.message.content ?? '')).toEqual({ name: 'sim', tags: ['sim'] });
  expect(streamedReply.message.content).toBe(completion.choices[0]?.message.content);
});

test('reasoning models return their reasoning, and other models only bill it', async () => {
  const visibleReasoning = jsonOf<ChatCompletion>(await chat('think', { model: 'sim-reason' }));
  const hiddenReasoning = jsonOf<ChatCompletion>(await chat('think [[think=7]] [[tokens=5]]'));
  expect(visibleReasoning.choices[0]?.message.reasoning_content?.split(' ')).toHaveLength(12);
  expect(visibleReasoning.usage.completion_tokens_details.reasoning_tokens).toBe(12);
  expect(hiddenReasoning.choices[0]?.message.reasoning_content).toBeUndefined();
  expect(hiddenReasoning.usage).toMatchObject({
    completion_tokens: 12,
    completion_tokens_details: { reasoning_tokens: 7 },
  });
});

test('cached tokens are included in the prompt tokens', async () => {
  const prompt = 'hello [[cached=512]] [[cache-write=100]]';
  const promptTokens = countTokens(prompt);
  expect(jsonOf<ChatCompletion>(await chat(prompt)).usage).toMatchObject({
    prompt_tokens: promptTokens + 612,
    prompt_tokens_details: { cached_tokens: 512, cache_write_tokens: 100 },
  });
});

test('directives, stop sequences and the output limit determine the text', async () => {
  const textOf = async (prompt: string, more: object = {}): Promise<[string | null, string]> => {
    const choice = jsonOf<ChatCompletion>(await chat(prompt, more)).choices[0];
    return [choice?.message.content ?? null, choice?.finish_reason ?? ''];
  };
  expect(await textOf('[[echo=Grüße 👋🏽, welt]]')).toEqual(['Grüße 👋🏽, welt', 'stop']);
  expect(await textOf('[[echo=one two three]]', { stop: [' three', ' two'] })).toEqual(['one', 'stop']);
  expect(await textOf('[[echo=abcdefghijkl]]', { max_tokens: 2 })).toEqual(['abcdefgh', 'length']);
  const [unicode] = await textOf('[[unicode]] [[tokens=30]]');
  expect(Buffer.byteLength(unicode ?? '')).toBeGreaterThan((unicode ?? '').length);
  const echoedReply = assembleStream(await chat('[[echo=Grüße 👋🏽, welt]]', streaming));
  expect(echoedReply.message.content).toBe('Grüße 👋🏽, welt');
});

test('an image counts as 85 tokens', async () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const completion = jsonOf<ChatCompletion>(await chat([{ type: 'text', text: 'look' }, image, image]));
  expect(completion.usage.prompt_tokens).toBe(1 + 2 * 85);
});

test('several choices are separated by index', async () => {
  const chunks = eventsOf<SimulatorChatChunk>(await chat('hello [[tokens=4]]', { n: 2, ...streaming }));
  const texts = [0, 1].map((index) =>
    chunks
      .flatMap(({ choices }) => choices.filter((choice) => choice.index === index))
      .map(({ delta }) => delta.content ?? '')
      .join(''),
  );
  expect(texts[0]?.split(' ')).toHaveLength(4);
  expect(texts[1]).toBe(texts[0]);
  expect(chunks.at(-1)?.usage?.completion_tokens).toBe(8);
});

test('the legacy completions route returns its own format', async () => {
  const body = { model: 'sim-small', prompt: 'hello [[tokens=5]]' };
  const url = `${simulator.url}/v1/completions`;
  const completion = jsonOf<{ object: string; choices: { text: string }[]; usage: ChatUsage }>(
    await call(url, body),
  );
  const response = await call(url, { ...body, ...streaming });
  const chunks = eventsOf<{ choices: { text: string }[]; usage?: ChatUsage }>(response);
  expect(completion).toMatchObject({ object: 'text_completion', usage: { completion_tokens: 5 } });
  expect(chunks.flatMap(({ choices }) => choices.map(({ text }) => text)).join('')).toBe(
    completion.choices[0]?.text,
  );
  expect(chunks.at(-1)?.usage).toEqual(completion.usage);
  expect(framesOf(response).at(-1)?.data).toBe('[DONE]');
});
