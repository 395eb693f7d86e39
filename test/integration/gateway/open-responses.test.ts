import { startTestApp, type TestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';
import { ModelShelf } from './model-shelf';

type Json = Record<string, unknown>;

const message = (role: string, content: unknown, more: Json = {}): Json => ({
  type: 'message',
  role,
  content,
  ...more,
});
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'Get the current weather for a location',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};
const redSquare =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

/** The eight HTTP items of the compliance suite of openresponses.org, as it was on 28 November 2026. */
const items: Readonly<Record<string, Json>> = {
  'basic-response': { input: [message('user', 'Say hello in exactly 3 words.')] },
  'assistant-phase': {
    input: [
      message('assistant', 'I should answer with the saved number.', { phase: 'commentary' }),
      message('assistant', 'The number is four.', { phase: 'final_answer' }),
      message('user', 'Repeat only the number.'),
    ],
  },
  'streaming-response': { input: [message('user', 'Count from 1 to 5.')], stream: true },
  'system-prompt': { input: [message('system', 'You are a pirate.'), message('user', 'Say hello.')] },
  'tool-calling': {
    input: [message('user', 'Weather? [[tool=get_weather({"location":"San Francisco"})]]')],
    tools: [weather],
  },
  'tool-calling-streaming': {
    input: [message('user', 'Weather? [[tool=get_weather({"location":"San Francisco"})]]')],
    tools: [weather],
    stream: true,
  },
  'image-input': {
    input: [
      message('user', [
        { type: 'input_text', text: 'What do you see?' },
        { type: 'input_image', image_url: redSquare },
      ]),
    ],
  },
  'multi-turn': {
    input: [
      message('user', 'My name is Alice.'),
      message('assistant', 'Hello Alice!'),
      message('user', 'What is my name?'),
    ],
  },
};

const isText = (value: unknown): boolean => typeof value === 'string';
const isWhole = (value: unknown): boolean => Number.isInteger(value);
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const orNull =
  (check: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === null || check(value);

/** The schema `ResponseResource`: every field is required. */
const resource: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: isText,
  object: (value) => value === 'response',
  created_at: isWhole,
  completed_at: orNull(isWhole),
  status: isText,
  incomplete_details: orNull(isObject),
  model: isText,
  previous_response_id: orNull(isText),
  instructions: orNull(isText),
  output: Array.isArray,
  error: orNull(isObject),
  tools: Array.isArray,
  tool_choice: (value) => isText(value) || isObject(value),
  truncation: (value) => value === 'auto' || value === 'disabled',
  parallel_tool_calls: isFlag,
  text: isObject,
  top_p: isNumber,
  presence_penalty: isNumber,
  frequency_penalty: isNumber,
  top_logprobs: isWhole,
  temperature: isNumber,
  reasoning: orNull(isObject),
  usage: orNull(isObject),
  max_output_tokens: orNull(isWhole),
  max_tool_calls: orNull(isWhole),
  store: isFlag,
  background: isFlag,
  service_tier: isText,
  metadata: (value) => value !== undefined,
  safety_identifier: orNull(isText),
  prompt_cache_key: orNull(isText),
};
const tool: typeof resource = {
  name: isText,
  description: orNull(isText),
  parameters: orNull(isObject),
  strict: orNull(isFlag),
};

const wrongIn = (value: Json, fields: typeof resource): string[] =>
  Object.keys(fields).filter((name) => !fields[name]!(value[name]));

const wrongInResponse = (response: Json): string[] => [
  ...wrongIn(response, resource),
  ...(response.tools as Json[]).flatMap((one) => wrongIn(one, tool).map((name) => `tools[].${name}`)),
];

/** Fields of a response object are present on every lane, native and converted. */
describe('the Open Responses compliance suite', () => {
  let app: TestApp;
  let supplier: Simulator;

  const lanes = {
    chat: { style: 'openai-style', settings: {} },
    responses: { style: 'openai-style', settings: { profile: 'openai' } },
    messages: { style: 'messages-style', settings: {} },
    gemini: { style: 'gemini', settings: {} },
    mistral: { style: 'openai-style', settings: { profile: 'mistral' } },
  } as const;
  const laneNames = Object.keys(lanes) as (keyof typeof lanes)[];

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const shelf = new ModelShelf(app);
    for (const name of laneNames) {
      const { style, settings } = lanes[name];
      const kind = style === 'openai-style' ? 'bearer' : 'header';
      const credential = { label: 'key', kind, secret: 'sim-key' } as const;
      await shelf.provider({ name, style, settings, baseUrl: supplier.url, credentials: [credential] });
      await shelf.model(`on-${name}`, [{ provider: name }]);
    }
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  async function responsesTo(body: Json): Promise<Json[]> {
    const reply = await fetch(`${app.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(reply.status).toBe(200);
    if (body.stream !== true) return [(await reply.json()) as Json];
    const events = [...(await reply.text()).matchAll(/^data: (\{.*)$/gm)].map(
      ([, data]) => JSON.parse(data!) as Json,
    );
    return events.flatMap(({ response }) => (response === undefined ? [] : [response as Json]));
  }

  const cases = laneNames.flatMap((lane) => Object.keys(items).map((item) => [item, lane] as const));
  test.each(cases)('%s passes on the %s lane', async (item, lane) => {
    const responses = await responsesTo({ model: `on-${lane}`, ...items[item] });
    for (const response of responses) expect(wrongInResponse(response)).toEqual([]);
    const final = responses.at(-1)!;
    expect(final.status).toBe('completed');
    expect(final.completed_at).not.toBeNull();
    expect(final.store).toBe(true);
    const types = (final.output as Json[]).map(({ type }) => type);
    expect(types).toContain(item.startsWith('tool-calling') ? 'function_call' : 'message');
  });

  test.each(laneNames)('repeats what the request says on the %s lane', async (lane) => {
    const said = { store: false, prompt_cache_key: 'k', max_tool_calls: 3, metadata: { a: 'b' } };
    for (const stream of [false, true]) {
      const [first, ...others] = await responsesTo({ model: `on-${lane}`, input: 'Hello', stream, ...said });
      for (const response of [first!, ...others]) expect(response.store).toBe(false);
    }
  });
});
