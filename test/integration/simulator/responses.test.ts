import { startSimulator, type Simulator } from '../../support/simulator';
import { call, eventsOf, framesOf, jsonOf, responsesTools, type Seen } from './client';

interface Item {
  id: string;
  type: string;
  content?: { type: string; text: string }[];
  summary?: { text: string }[];
  encrypted_content?: string;
  call_id?: string;
  name?: string;
  namespace?: string;
  arguments?: string;
}
interface Response {
  id: string;
  status: string;
  output: Item[];
  usage: Record<string, unknown> | null;
  incomplete_details: unknown;
}
interface Event {
  type: string;
  sequence_number: number;
  output_index?: number;
  delta?: string;
  item?: Item;
  response?: Response;
}

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

function respond(input: unknown, more: object = {}): Promise<Seen> {
  return call(`${simulator.url}/v1/responses`, { model: 'sim-small', input, ...more });
}

test('a stream ends with the whole answer, and its pieces add up to it', async () => {
  const prompt = 'hello [[think=3]] [[tokens=6]]';
  const whole = jsonOf<Response>(await respond(prompt));
  const seen = await respond(prompt, { stream: true });
  const events = eventsOf<Event>(seen);
  expect(framesOf(seen).map(({ event }) => event)).toEqual(events.map(({ type }) => type));
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: whole });
  const pieces = events.filter(({ type }) => type === 'response.output_text.delta');
  expect(pieces.map(({ delta }) => delta).join('')).toBe(whole.output[1]?.content?.[0]?.text);
  const done = events.filter(({ type }) => type === 'response.output_item.done');
  expect(done.map(({ item }) => item)).toEqual(whole.output);
  expect(whole).toMatchObject({
    status: 'completed',
    usage: {
      input_tokens: Math.ceil(prompt.length / 4),
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 3 },
    },
  });
});

test.each(['', '[[interleave]]'])('function calls stream their arguments %s', async (directive) => {
  const seen = await respond(`go [[tools=2]] ${directive}`, { tools: responsesTools, stream: true });
  const events = eventsOf<Event>(seen);
  const output = events.at(-1)?.response?.output ?? [];
  const pieces = events.filter(({ type }) => type === 'response.function_call_arguments.delta');
  const joined = [0, 1].map((index) =>
    pieces
      .filter(({ output_index }) => output_index === index)
      .map(({ delta }) => delta)
      .join(''),
  );
  expect(joined.map((text) => JSON.parse(text) as unknown)).toEqual([
    { city: 'sim', days: 2 },
    { zone: 'utc' },
  ]);
  expect(output.map((item) => item.arguments)).toEqual(joined);
  const order = pieces.map(({ output_index }) => output_index);
  const isSorted = order.every((index, at) => at === 0 || Number(index) >= Number(order[at - 1]));
  expect(isSorted).toBe(directive === '');
});

test('a tool that an item of the input adds is called', async () => {
  const tools = [{ type: 'namespace', name: 'weather', tools: responsesTools }];
  const input = [
    { type: 'additional_tools', id: 'at_1', role: 'developer', tools },
    { role: 'user', content: 'go [[tools=1]]' },
  ];
  const { output } = jsonOf<Response>(await respond(input));
  expect(output[0]).toMatchObject({ type: 'function_call', name: 'get_weather', namespace: 'weather' });
});

test('tools of a namespace are called with it, and the conversation ends', async () => {
  const tools = [{ type: 'namespace', name: 'weather', tools: responsesTools }, { type: 'web_search' }];
  const first = jsonOf<Response>(await respond('go [[tools=1]]', { tools }));
  const called = first.output[0];
  expect(called).toMatchObject({ type: 'function_call', name: 'get_weather', namespace: 'weather' });
  const input = [
    { role: 'user', content: [{ type: 'input_text', text: 'go [[tools=1]]' }] },
    called,
    { type: 'function_call_output', call_id: called?.call_id, output: 'sunny' },
  ];
  const second = jsonOf<Response>(await respond(input, { tools }));
  expect(second.output[0]?.content?.[0]?.text).toBe('The tools answered: sunny.');
});

test('an answer cut by the limit is incomplete, and says so in the stream too', async () => {
  const more = { max_output_tokens: 16 };
  const whole = jsonOf<Response>(await respond('[[tokens=50]]', more));
  const last = eventsOf<Event>(await respond('[[tokens=50]]', { ...more, stream: true })).at(-1);
  expect(whole).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    usage: { output_tokens: 16 },
  });
  expect(last).toMatchObject({ type: 'response.incomplete', response: whole });
});

test('encrypted reasoning comes only when it is asked for', async () => {
  const asked = jsonOf<Response>(
    await respond('[[think]]', { store: false, include: ['reasoning.encrypted_content'] }),
  );
  const plain = jsonOf<Response>(await respond('[[think]]'));
  expect(asked.output[0]).toMatchObject({
    type: 'reasoning',
    encrypted_content: expect.any(String) as string,
  });
  expect(plain.output[0]).not.toHaveProperty('encrypted_content');
});
