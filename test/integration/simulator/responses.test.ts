import { startSimulator, type Simulator } from '../../support/simulator';
import { call, eventsOf, framesOf, jsonOf, responsesTools, type RawResponse } from './client';

interface ResponsesItem {
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
interface ResponsesResult {
  id: string;
  status: string;
  output: ResponsesItem[];
  usage: Record<string, unknown> | null;
  incomplete_details: unknown;
}
interface ResponsesEvent {
  type: string;
  sequence_number: number;
  output_index?: number;
  delta?: string;
  item?: ResponsesItem;
  response?: ResponsesResult;
}

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

function respond(input: unknown, more: object = {}): Promise<RawResponse> {
  return call(`${simulator.url}/v1/responses`, { model: 'sim-small', input, ...more });
}

test('a stream ends with the complete response, and its deltas add up to it', async () => {
  const prompt = 'hello [[think=3]] [[tokens=6]]';
  const completeResult = jsonOf<ResponsesResult>(await respond(prompt));
  const response = await respond(prompt, { stream: true });
  const events = eventsOf<ResponsesEvent>(response);
  expect(framesOf(response).map(({ event }) => event)).toEqual(events.map(({ type }) => type));
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: completeResult });
  const textDeltas = events.filter(({ type }) => type === 'response.output_text.delta');
  expect(textDeltas.map(({ delta }) => delta).join('')).toBe(completeResult.output[1]?.content?.[0]?.text);
  const doneEvents = events.filter(({ type }) => type === 'response.output_item.done');
  expect(doneEvents.map(({ item }) => item)).toEqual(completeResult.output);
  expect(completeResult).toMatchObject({
    status: 'completed',
    usage: {
      input_tokens: Math.ceil(prompt.length / 4),
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 3 },
    },
  });
});

test.each(['', '[[interleave]]'])('function calls stream their arguments %s', async (directive) => {
  const response = await respond(`go [[tools=2]] ${directive}`, { tools: responsesTools, stream: true });
  const events = eventsOf<ResponsesEvent>(response);
  const output = events.at(-1)?.response?.output ?? [];
  const argumentDeltas = events.filter(({ type }) => type === 'response.function_call_arguments.delta');
  const joinedArguments = [0, 1].map((index) =>
    argumentDeltas
      .filter(({ output_index }) => output_index === index)
      .map(({ delta }) => delta)
      .join(''),
  );
  expect(joinedArguments.map((text) => JSON.parse(text) as unknown)).toEqual([
    { city: 'sim', days: 2 },
    { zone: 'utc' },
  ]);
  expect(output.map((item) => item.arguments)).toEqual(joinedArguments);
  const deltaOrder = argumentDeltas.map(({ output_index }) => output_index);
  const isSorted = deltaOrder.every((index, at) => at === 0 || Number(index) >= Number(deltaOrder[at - 1]));
  expect(isSorted).toBe(directive === '');
});

test('a tool that an item of the input adds is called', async () => {
  const tools = [{ type: 'namespace', name: 'weather', tools: responsesTools }];
  const input = [
    { type: 'additional_tools', id: 'at_1', role: 'developer', tools },
    { role: 'user', content: 'go [[tools=1]]' },
  ];
  const { output } = jsonOf<ResponsesResult>(await respond(input));
  expect(output[0]).toMatchObject({ type: 'function_call', name: 'get_weather', namespace: 'weather' });
});

test('tools of a namespace are called with it, and the conversation ends', async () => {
  const tools = [{ type: 'namespace', name: 'weather', tools: responsesTools }, { type: 'web_search' }];
  const first = jsonOf<ResponsesResult>(await respond('go [[tools=1]]', { tools }));
  const functionCall = first.output[0];
  expect(functionCall).toMatchObject({ type: 'function_call', name: 'get_weather', namespace: 'weather' });
  const input = [
    { role: 'user', content: [{ type: 'input_text', text: 'go [[tools=1]]' }] },
    functionCall,
    { type: 'function_call_output', call_id: functionCall?.call_id, output: 'sunny' },
  ];
  const second = jsonOf<ResponsesResult>(await respond(input, { tools }));
  expect(second.output[0]?.content?.[0]?.text).toBe('The tools answered: sunny.');
});

test('a response cut by the token limit is incomplete, also when streaming', async () => {
  const limits = { max_output_tokens: 16 };
  const completeResult = jsonOf<ResponsesResult>(await respond('[[tokens=50]]', limits));
  const lastEvent = eventsOf<ResponsesEvent>(await respond('[[tokens=50]]', { ...limits, stream: true })).at(
    -1,
  );
  expect(completeResult).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    usage: { output_tokens: 16 },
  });
  expect(lastEvent).toMatchObject({ type: 'response.incomplete', response: completeResult });
});

test('encrypted reasoning is returned only on request', async () => {
  const withEncrypted = jsonOf<ResponsesResult>(
    await respond('[[think]]', { store: false, include: ['reasoning.encrypted_content'] }),
  );
  const withoutEncrypted = jsonOf<ResponsesResult>(await respond('[[think]]'));
  expect(withEncrypted.output[0]).toMatchObject({
    type: 'reasoning',
    encrypted_content: expect.any(String) as string,
  });
  expect(withoutEncrypted.output[0]).not.toHaveProperty('encrypted_content');
});
