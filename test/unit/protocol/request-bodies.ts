import fc from 'fast-check';
import { type DialectName } from '../../../src/protocol';
import { type Json } from './transcripts';

/** Request bodies of each dialect as its clients write them, in the form that the gateway writes too. */

type JsonArbitrary = fc.Arbitrary<Json>;

const word = fc.stringMatching(/^[a-z]{1,8}$/);
const text = fc.string({ minLength: 1, maxLength: 20 }).map((value) => `.${value}.`);
const json = fc.dictionary(word, fc.oneof(word, fc.integer(), fc.boolean()), { maxKeys: 3 });
const data = fc.base64String({ minLength: 4, maxLength: 16 });
const schema = json.map((extra) => ({ type: 'object', properties: {}, description: JSON.stringify(extra) }));
const mark = fc.option(fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }), {
  nil: undefined,
});
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });

const defined = (value: Json): Json =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
const record = (fields: Record<string, fc.Arbitrary<unknown>>): JsonArbitrary =>
  fc.record(fields).map(defined);
const list = <T>(item: fc.Arbitrary<T>, least = 1): fc.Arbitrary<T[]> =>
  fc.array(item, { minLength: least, maxLength: 3 });

/** A single plain text is written as a string. */
const content = (part: JsonArbitrary): fc.Arbitrary<string | Json[]> =>
  fc.oneof(
    text,
    list(part).filter((parts) => parts.length > 1 || Object.keys(parts[0]!).join() !== 'type,text'),
  );

const constant = <T>(value: T): fc.Arbitrary<T> => fc.constant(value);
let counter = 0;
const callId = word.map((value) => `call_${value}_${counter++}`);

const chatText = record({ type: constant('text'), text });
const chatPart = fc.oneof(
  chatText,
  record({
    type: constant('image_url'),
    image_url: record({
      url: data.map((value) => `data:image/png;base64,${value}`),
      detail: optional(constant('low')),
    }),
  }),
  record({ type: constant('input_audio'), input_audio: record({ data, format: constant('wav') }) }),
  record({
    type: constant('file'),
    file: record({ filename: word, file_data: data.map((value) => `data:application/pdf;base64,${value}`) }),
  }),
);
const chatRound = fc
  .record({
    ids: list(callId),
    content: optional(text),
    reasoning: optional(text),
    name: word,
    input: json,
    result: content(chatText),
  })
  .map(({ ids, content: assistantContent, reasoning, name, input, result }): Json[] => [
    defined({
      role: 'assistant',
      reasoning_content: reasoning,
      content: assistantContent ?? null,
      tool_calls: ids.map((id) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input) },
      })),
    }),
    ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: result })),
  ]);
const chatMessages = fc
  .tuple(
    fc.array(
      record({
        role: fc.constantFrom('system', 'developer'),
        content: content(chatText),
        name: optional(word),
      }),
      { maxLength: 2 },
    ),
    list(
      fc.oneof(
        record({ role: constant('user'), content: content(chatPart), name: optional(word) }).map(
          (message) => [message],
        ),
        record({ role: constant('assistant'), content: text }).map((message) => [message]),
        chatRound,
      ),
    ),
  )
  .map(([system, turns]) => [...system, ...turns.flat()]);
const chatTool = fc.oneof(
  record({
    type: constant('function'),
    function: record({
      name: word,
      description: optional(text),
      parameters: optional(schema),
      strict: optional(constant(false)),
    }),
  }),
  record({ type: constant('custom'), custom: record({ name: word, description: optional(text) }) }),
);
const openaiFormat = (wrap: (format: Json) => Json): JsonArbitrary =>
  fc.oneof(
    constant<Json>({ type: 'text' }),
    constant<Json>({ type: 'json_object' }),
    record({ name: word, description: optional(text), schema, strict: constant(false) }).map(wrap),
  );
const chat = record({
  model: word,
  messages: chatMessages,
  temperature: optional(fc.constantFrom(0, 0.5, 2)),
  top_p: optional(constant(0.9)),
  stop: optional(fc.oneof(word, fc.array(word, { minLength: 2, maxLength: 4 }))),
  seed: optional(fc.integer()),
  user: optional(word),
  metadata: optional(json),
  max_completion_tokens: optional(fc.integer({ min: 1, max: 9999 })),
  response_format: optional(openaiFormat((declared) => ({ type: 'json_schema', json_schema: declared }))),
  reasoning_effort: optional(fc.constantFrom('none', 'low', 'high')),
  tools: list(chatTool),
  tool_choice: optional(
    fc.constantFrom('auto', 'none', 'required', { type: 'function', function: { name: 'x' } }),
  ),
  parallel_tool_calls: optional(fc.boolean()),
  stream: constant(true),
  stream_options: optional(constant({ include_usage: true })),
  logit_bias: optional(json),
  frequency_penalty: optional(constant(0.5)),
  prompt_cache_key: optional(word),
});

const markedRecord = (fields: Record<string, fc.Arbitrary<unknown>>): JsonArbitrary =>
  record({ ...fields, cache_control: mark });
const messagesText = markedRecord({ type: constant('text'), text });
const source = fc.oneof(
  record({ type: constant('base64'), media_type: constant('image/png'), data }),
  record({ type: constant('url'), url: word.map((value) => `https://${value}.example/`) }),
);
const messagesPart = fc.oneof(
  messagesText,
  markedRecord({ type: constant('image'), source }),
  markedRecord({
    type: constant('document'),
    source: record({ type: constant('text'), media_type: constant('text/plain'), data: text }),
    title: optional(word),
    context: optional(text),
  }),
);
const thinking = fc.oneof(
  record({ type: constant('thinking'), thinking: text, signature: data }),
  record({ type: constant('redacted_thinking'), data }),
);
const plainOr = (parts: Json[]): string | Json[] =>
  parts.length === 1 && Object.keys(parts[0]!).join() === 'type,text' ? String(parts[0]!.text) : parts;
const messagesRound = fc
  .record({
    ids: list(callId),
    before: fc.array(thinking, { maxLength: 2 }),
    input: json,
    name: word,
    result: content(messagesText),
    said: messagesText,
    isError: optional(constant(true)),
  })
  .map(({ ids, before, input, name, result, said, isError }): Json[] => [
    {
      role: 'assistant',
      content: [...before, ...ids.map((id) => ({ type: 'tool_use', id, name, input }))],
    },
    {
      role: 'user',
      content: [
        ...ids.map((id) =>
          defined({ type: 'tool_result', tool_use_id: id, content: result, is_error: isError }),
        ),
        said,
      ],
    },
  ]);
const messages = record({
  model: word,
  system: optional(list(messagesText).map(plainOr)),
  messages: fc
    .tuple(list(messagesPart).map(plainOr), list(messagesRound, 0))
    .map(([first, rounds]): Json[] => [{ role: 'user', content: first }, ...rounds.flat()]),
  max_tokens: fc.integer({ min: 1, max: 9999 }),
  temperature: optional(constant(0.5)),
  top_p: optional(constant(0.9)),
  top_k: optional(constant(5)),
  stop_sequences: optional(list(word)),
  tools: list(
    markedRecord({
      name: word,
      description: optional(text),
      input_schema: schema,
      strict: optional(constant(true)),
      defer_loading: optional(fc.boolean()),
    }),
  ),
  tool_choice: optional(
    fc.constantFrom({ type: 'auto', disable_parallel_tool_use: true }, { type: 'any' }, { type: 'none' }),
  ),
  thinking: optional(
    fc.constantFrom(
      { type: 'adaptive', display: 'omitted' },
      { type: 'disabled' },
      { type: 'enabled', budget_tokens: 2048 },
    ),
  ),
  output_config: optional(
    record({ effort: constant('high'), format: optional(record({ type: constant('json_schema'), schema })) }),
  ),
  metadata: optional(record({ user_id: text })),
  stream: constant(true),
  context_management: optional(json),
  container: optional(word),
});

const inputText = record({ type: constant('input_text'), text });
const inputPart = fc.oneof(
  inputText,
  record({
    type: constant('input_image'),
    image_url: word.map((value) => `https://${value}.example/`),
    detail: optional(constant('high')),
  }),
  record({
    type: constant('input_file'),
    filename: word,
    file_data: data.map((value) => `data:application/pdf;base64,${value}`),
  }),
);
const nameFields = { name: word, description: optional(text) };
const responsesFunction = record({
  type: constant('function'),
  ...nameFields,
  parameters: optional(schema),
  strict: optional(fc.boolean()),
});
const responsesRound = fc
  .record({
    ids: list(callId),
    name: word,
    namespace: optional(word),
    input: json,
    result: text,
    secret: data,
    custom: fc.boolean(),
  })
  .map(({ ids, name, namespace, input, result, secret, custom }): Json[] => [
    { type: 'reasoning', summary: [{ type: 'summary_text', text: result }], encrypted_content: secret },
    ...ids.map((id) =>
      custom
        ? { type: 'custom_tool_call', call_id: id, name, input: result }
        : defined({ type: 'function_call', call_id: id, name, namespace, arguments: JSON.stringify(input) }),
    ),
    ...ids.map((id) => ({
      type: custom ? 'custom_tool_call_output' : 'function_call_output',
      call_id: id,
      output: result,
    })),
  ]);
const responses = record({
  model: word,
  instructions: text,
  input: list(
    fc.oneof(
      record({
        type: constant('message'),
        role: fc.constantFrom('user', 'developer'),
        content: list(inputText),
      }).map((item) => [item]),
      record({ type: constant('message'), role: constant('user'), content: list(inputPart) }).map((item) => [
        item,
      ]),
      record({
        type: constant('message'),
        role: constant('assistant'),
        content: text.map((outputText) => [{ type: 'output_text', text: outputText, annotations: [] }]),
      }).map((item) => [item]),
      responsesRound,
    ),
  )
    .map((rounds) => rounds.flat())
    .filter(hasNoAdjacentAssistants),
  temperature: optional(constant(1.5)),
  max_output_tokens: optional(fc.integer({ min: 16, max: 9999 })),
  text: optional(
    record({
      format: openaiFormat((declared) => ({ type: 'json_schema', ...declared })),
      verbosity: optional(constant('low')),
    }),
  ),
  reasoning: optional(
    record({ effort: fc.constantFrom('none', 'medium'), summary: optional(constant('auto')) }),
  ),
  tools: fc
    .tuple(
      list(responsesFunction),
      record({ type: constant('namespace'), ...nameFields, tools: list(responsesFunction) }),
      record({ type: constant('web_search'), filters: json }),
    )
    .map(([functions, ...others]) => [...functions, ...others]),
  tool_choice: optional(
    fc.constantFrom('auto', { type: 'web_search' }, { type: 'function', name: 'x', namespace: 'y' }),
  ),
  parallel_tool_calls: optional(fc.boolean()),
  stream: constant(true),
  user: optional(word),
  previous_response_id: optional(word),
  include: optional(list(word)),
  prompt_cache_key: optional(word),
});

/** Two consecutive messages of the assistant are merged. */
function hasNoAdjacentAssistants(items: Json[]): boolean {
  return items.every((item, index) => item.role !== 'assistant' || items[index - 1]?.role !== 'assistant');
}

export const bodies: Readonly<Record<DialectName, JsonArbitrary>> = { chat, messages, responses };
