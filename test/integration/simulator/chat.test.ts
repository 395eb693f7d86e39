import { countTokens } from '../../../simulator/tokens';
import { startSimulator, type Simulator } from '../../support/simulator';
import { call, chatTools, eventsOf, framesOf, jsonOf, type Seen } from './client';

interface ToolCallPiece {
  index: number;
  id?: string;
  function: { name?: string; arguments: string };
}
interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
  completion_tokens_details: { reasoning_tokens: number };
}
interface Message {
  role: string;
  content: string | null;
  reasoning_content?: string;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
}
interface Completion {
  id: string;
  object: string;
  choices: { index: number; message: Message; finish_reason: string }[];
  usage: Usage;
}
interface Chunk {
  id: string;
  object: string;
  choices: {
    index: number;
    delta: { role?: string; content?: string; reasoning_content?: string; tool_calls?: ToolCallPiece[] };
    finish_reason: string | null;
  }[];
  usage?: Usage | null;
}

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

function chat(content: unknown, more: object = {}): Promise<Seen> {
  const body = { model: 'sim-small', messages: [{ role: 'user', content }], ...more };
  return call(`${simulator.url}/v1/chat/completions`, body);
}

const streaming = { stream: true, stream_options: { include_usage: true } };

/** Puts a stream back together as a client library does. */
function assembled(seen: Seen): { message: Message; finish: string | null; usage: Usage | null | undefined } {
  const message: Message = { role: '', content: null };
  const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
  let finish: string | null = null;
  let usage: Usage | null | undefined;
  for (const chunk of eventsOf<Chunk>(seen)) {
    usage = chunk.usage;
    const choice = chunk.choices[0];
    if (!choice) continue;
    finish = choice.finish_reason ?? finish;
    message.role += choice.delta.role ?? '';
    message.content = (message.content ?? '') + (choice.delta.content ?? '');
    for (const piece of choice.delta.tool_calls ?? []) {
      const known = (calls[piece.index] ??= {
        id: '',
        type: 'function',
        function: { name: '', arguments: '' },
      });
      known.id += piece.id ?? '';
      known.function.name += piece.function.name ?? '';
      known.function.arguments += piece.function.arguments;
    }
  }
  if (calls.length > 0) message.tool_calls = calls;
  return { message, finish, usage };
}

test('a plain answer has the shape, the length and the usage its rule says', async () => {
  const prompt = 'Tell me something. [[tokens=60]]';
  const completion = jsonOf<Completion>(await chat(prompt));
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

test('the same request has the same answer to the byte; another prompt has another', async () => {
  const [first, second, other] = await Promise.all([chat('one'), chat('one'), chat('two')]);
  expect(first.bytes.equals(second.bytes)).toBe(true);
  expect(other.bytes.equals(first.bytes)).toBe(false);
  expect(first.headers['x-request-id']).not.toBe(second.headers['x-request-id']);
});

test('a stream says the same as the whole answer, role first, usage last, one terminator', async () => {
  const seen = await chat('hello [[tokens=9]]', streaming);
  const whole = jsonOf<Completion>(await chat('hello [[tokens=9]]'));
  const chunks = eventsOf<Chunk>(seen);
  expect(seen.headers['content-type']).toMatch('text/event-stream');
  expect(framesOf(seen).filter(({ data }) => data === '[DONE]')).toHaveLength(1);
  expect(framesOf(seen).at(-1)?.data).toBe('[DONE]');
  expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set([whole.id]));
  expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
  expect(chunks.at(-1)?.choices).toEqual([]);
  expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  const { message, finish, usage } = assembled(seen);
  expect(message.content).toBe(whole.choices[0]?.message.content);
  expect({ finish, usage }).toEqual({ finish: 'stop', usage: whole.usage });
});

test('without include_usage no chunk speaks of usage', async () => {
  const chunks = eventsOf<Chunk>(await chat('hello', { stream: true }));
  expect(chunks.length).toBeGreaterThan(10);
  expect(chunks.every((chunk) => !('usage' in chunk) && chunk.choices.length === 1)).toBe(true);
});

test('tool calls carry arguments that fit the schema', async () => {
  const { choices, usage } = jsonOf<Completion>(await chat('go [[tool=get_weather]]', { tools: chatTools }));
  const called = choices[0]?.message.tool_calls?.[0];
  expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
  expect(called).toMatchObject({ type: 'function', function: { name: 'get_weather' } });
  expect(JSON.parse(called?.function.arguments ?? '')).toEqual({ city: 'sim', days: 2 });
  expect(usage.completion_tokens).toBe(countTokens(`get_weather${called?.function.arguments ?? ''}`));
});

test('arguments may be dictated', async () => {
  const prompt = 'go [[tool=get_weather({"city":"Bern","days":7})]]';
  const { choices } = jsonOf<Completion>(await chat(prompt, { tools: chatTools }));
  expect(JSON.parse(choices[0]?.message.tool_calls?.[0]?.function.arguments ?? '')).toEqual({
    city: 'Bern',
    days: 7,
  });
});

test.each([
  ['one after the other', '', [0, 0, 0, 0, 1, 1, 1]],
  ['interleaved', '[[interleave]]', [0, 1, 0, 1, 0, 1, 0]],
])('parallel tools stream %s', async (_name, directive, order) => {
  const prompt = `go [[tool=get_weather({"city":"Aarhus"})]] [[tool=get_time({"zone":"b"})]] ${directive}`;
  const seen = await chat(prompt, { tools: chatTools, ...streaming });
  const pieces = eventsOf<Chunk>(seen).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
  expect(pieces.map(({ index }) => index)).toEqual(order);
  const { message, finish } = assembled(seen);
  expect(finish).toBe('tool_calls');
  expect(message.tool_calls?.map((called) => called.function)).toEqual([
    { name: 'get_weather', arguments: '{"city":"Aarhus"}' },
    { name: 'get_time', arguments: '{"zone":"b"}' },
  ]);
});

test('a tool that takes nothing gets {} or, from careless suppliers, no text at all', async () => {
  for (const [directive, text] of [
    ['[[empty-args]]', '{}'],
    ['[[no-args]]', ''],
  ] as const) {
    const prompt = `go [[tools=1]] ${directive}`;
    const whole = jsonOf<Completion>(await chat(prompt, { tools: chatTools }));
    const { message } = assembled(await chat(prompt, { tools: chatTools, ...streaming }));
    expect(whole.choices[0]?.message.tool_calls?.[0]?.function.arguments).toBe(text);
    expect(message.tool_calls?.[0]?.function.arguments).toBe(text);
  }
});

test('a conversation with tools comes to its end', async () => {
  const question = { role: 'user', content: 'go [[tools=2]]' };
  const first = jsonOf<Completion>(await chat('go [[tools=2]]', { tools: chatTools }));
  const asked = first.choices[0]?.message;
  const results = asked?.tool_calls?.map(({ id }, index) => ({
    role: 'tool',
    tool_call_id: id,
    content: `result ${index}`,
  }));
  const messages = [question, asked, ...(results ?? [])].map((message) => {
    const { annotations: _annotations, ...kept } = message as { annotations?: unknown };
    return kept;
  });
  const second = jsonOf<Completion>(await chat('', { tools: chatTools, messages }));
  expect(second.choices[0]).toMatchObject({
    finish_reason: 'stop',
    message: { content: 'The tools answered: result 0; result 1.' },
  });
});

test('the caller decides about tools: none, required, one by name, one at a time', async () => {
  const callsOf = async (prompt: string, more: object): Promise<string[]> =>
    (
      jsonOf<Completion>(await chat(prompt, { tools: chatTools, ...more })).choices[0]?.message.tool_calls ??
      []
    ).map((called) => called.function.name);
  const named = { type: 'function', function: { name: 'get_time' } };
  expect(await callsOf('hello', {})).toEqual([]);
  expect(await callsOf('go [[tools=2]]', { tool_choice: 'none' })).toEqual([]);
  expect(await callsOf('hello', { tool_choice: 'required' })).toEqual(['get_weather']);
  expect(await callsOf('hello', { tool_choice: named })).toEqual(['get_time']);
  expect(await callsOf('go [[tools=2]]', { parallel_tool_calls: false })).toEqual(['get_weather']);
});

test('a JSON schema is obeyed, streaming or not', async () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' }, minItems: 1 } },
    required: ['name', 'tags'],
    additionalProperties: false,
  };
  const response_format = { type: 'json_schema', json_schema: { name: 'thing', strict: true, schema } };
  const whole = jsonOf<Completion>(await chat('give', { response_format }));
  const streamed = assembled(await chat('give', { response_format, ...streaming }));
  expect(JSON.parse(whole.choices[0]?.message.content ?? '')).toEqual({ name: 'sim', tags: ['sim'] });
  expect(streamed.message.content).toBe(whole.choices[0]?.message.content);
});

test('reasoning is shown by models named for it and only billed by others', async () => {
  const shown = jsonOf<Completion>(await chat('think', { model: 'sim-reason' }));
  const hidden = jsonOf<Completion>(await chat('think [[think=7]] [[tokens=5]]'));
  expect(shown.choices[0]?.message.reasoning_content?.split(' ')).toHaveLength(12);
  expect(shown.usage.completion_tokens_details.reasoning_tokens).toBe(12);
  expect(hidden.choices[0]?.message.reasoning_content).toBeUndefined();
  expect(hidden.usage).toMatchObject({
    completion_tokens: 12,
    completion_tokens_details: { reasoning_tokens: 7 },
  });
});

test('cached tokens are part of the prompt tokens', async () => {
  const prompt = 'hello [[cached=512]] [[cache-write=100]]';
  const own = countTokens(prompt);
  expect(jsonOf<Completion>(await chat(prompt)).usage).toMatchObject({
    prompt_tokens: own + 612,
    prompt_tokens_details: { cached_tokens: 512, cache_write_tokens: 100 },
  });
});

test('echo, unicode, stop and the output limit shape the text', async () => {
  const textOf = async (prompt: string, more: object = {}): Promise<[string | null, string]> => {
    const choice = jsonOf<Completion>(await chat(prompt, more)).choices[0];
    return [choice?.message.content ?? null, choice?.finish_reason ?? ''];
  };
  expect(await textOf('[[echo=Grüße 👋🏽, welt]]')).toEqual(['Grüße 👋🏽, welt', 'stop']);
  expect(await textOf('[[echo=one two three]]', { stop: [' three', ' two'] })).toEqual(['one', 'stop']);
  expect(await textOf('[[echo=abcdefghijkl]]', { max_tokens: 2 })).toEqual(['abcdefgh', 'length']);
  const [unicode] = await textOf('[[unicode]] [[tokens=30]]');
  expect(Buffer.byteLength(unicode ?? '')).toBeGreaterThan((unicode ?? '').length);
  const echoed = assembled(await chat('[[echo=Grüße 👋🏽, welt]]', streaming));
  expect(echoed.message.content).toBe('Grüße 👋🏽, welt');
});

test('images weigh 85 tokens each', async () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const completion = jsonOf<Completion>(await chat([{ type: 'text', text: 'look' }, image, image]));
  expect(completion.usage.prompt_tokens).toBe(1 + 2 * 85);
});

test('several choices are told apart by their index', async () => {
  const chunks = eventsOf<Chunk>(await chat('hello [[tokens=4]]', { n: 2, ...streaming }));
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

test('the older completions route answers in its own shape', async () => {
  const body = { model: 'sim-small', prompt: 'hello [[tokens=5]]' };
  const url = `${simulator.url}/v1/completions`;
  const whole = jsonOf<{ object: string; choices: { text: string }[]; usage: Usage }>(await call(url, body));
  const seen = await call(url, { ...body, ...streaming });
  const chunks = eventsOf<{ choices: { text: string }[]; usage?: Usage }>(seen);
  expect(whole).toMatchObject({ object: 'text_completion', usage: { completion_tokens: 5 } });
  expect(chunks.flatMap(({ choices }) => choices.map(({ text }) => text)).join('')).toBe(
    whole.choices[0]?.text,
  );
  expect(chunks.at(-1)?.usage).toEqual(whole.usage);
  expect(framesOf(seen).at(-1)?.data).toBe('[DONE]');
});
