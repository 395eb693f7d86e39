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

/** The eight HTTP items of the openresponses.org compliance suite, as of 28 November 2026. */
export const openResponsesItems: Readonly<Record<string, Json>> = {
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
const isInteger = (value: unknown): boolean => Number.isInteger(value);
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
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
  created_at: isInteger,
  completed_at: orNull(isInteger),
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
  parallel_tool_calls: isBoolean,
  text: isObject,
  top_p: isNumber,
  presence_penalty: isNumber,
  frequency_penalty: isNumber,
  top_logprobs: isInteger,
  temperature: isNumber,
  reasoning: orNull(isObject),
  usage: orNull(isObject),
  max_output_tokens: orNull(isInteger),
  max_tool_calls: orNull(isInteger),
  store: isBoolean,
  background: isBoolean,
  service_tier: isText,
  metadata: (value) => value !== undefined,
  safety_identifier: orNull(isText),
  prompt_cache_key: orNull(isText),
};
const tool: typeof resource = {
  name: isText,
  description: orNull(isText),
  parameters: orNull(isObject),
  strict: orNull(isBoolean),
};

const findInvalidFields = (value: Json, fields: typeof resource): string[] =>
  Object.keys(fields).filter((name) => !fields[name]!(value[name]));

const findInvalidResponseFields = (response: Json): string[] => [
  ...findInvalidFields(response, resource),
  ...(response.tools as Json[]).flatMap((entry) =>
    findInvalidFields(entry, tool).map((name) => `tools[].${name}`),
  ),
];

/** Returns the response objects of an HTTP response: its body, or those of its events. */
export function readOpenResponses(item: string, text: string): Json[] {
  if (openResponsesItems[item]?.stream !== true) return [JSON.parse(text) as Json];
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!) as Json);
  return events.flatMap(({ response }) => (response === undefined ? [] : [response as Json]));
}

/** Returns what the suite would reject in the response objects of an item. */
export function findOpenResponsesFaults(item: string, responses: readonly Json[]): string[] {
  const final = responses.at(-1);
  if (final === undefined) return ['no response object'];
  const types = Array.isArray(final.output) ? (final.output as Json[]).map(({ type }) => type) : [];
  return [
    ...responses.flatMap(findInvalidResponseFields),
    ...(final.status === 'completed' && isInteger(final.completed_at) ? [] : ['not completed']),
    ...(final.store === true ? [] : ['store']),
    ...(types.includes(item.startsWith('tool-calling') ? 'function_call' : 'message') ? [] : ['output']),
  ];
}
