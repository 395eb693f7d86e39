import fc from 'fast-check';
import {
  type ParsedJsonObject,
  printJson,
  readJsonObject,
  readJsonText,
  readVerbatim,
} from '../../../src/kernel';
import {
  type CanonicalEvent,
  collect,
  type DialectName,
  dialects,
  gemini,
  type SupplierDialect,
} from '../../../src/protocol';
import { decode, encode, type Json, names, options } from './transcripts';

/** A JSON object as text: long numbers, exponents, deep nesting, escapes and whitespace. */
interface WrittenJson {
  /** Text that can contain duplicate fields. */
  readonly loose: string;
  readonly unique: string;
}

const numbers = fc.oneof(
  fc.constantFrom('12345678901234567890', '9007199254740993', '-0', '1.0', '1e400', '-1E-400', '0.10', '1E5'),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);
const strings = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }).map((value) => JSON.stringify(value)),
  fc.constantFrom('"\\u0041\\/\\ud800"', '"\\\\\\""', '"1e400"', '"{\\"a\\":1.0}"', '"input"'),
);
const namesOfFields = fc.constantFrom('a', 'b', 'input', 'schema', '1', '0', 'parameters', 'x y');
const blank = fc.constantFrom('', ' ', '\n', '\t ');

const value = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    numbers,
    strings,
    fc.constantFrom('true', 'null', '{}', '[]', `${'['.repeat(30)}1.0${']'.repeat(30)}`),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    tie('object'),
  ),
  object: fc
    .tuple(
      fc.uniqueArray(fc.tuple(namesOfFields, tie('value')), { selector: ([name]) => name, maxLength: 4 }),
      blank,
    )
    .map(
      ([fields, gap]) =>
        `{${fields.map(([name, inner]) => `"${name}":${gap}${inner}`).join(`,${gap}`)}${gap}}`,
    ),
}));

const written: fc.Arbitrary<WrittenJson> = fc
  .tuple(value.object, numbers, numbers)
  .map(([unique, one, other]) => ({
    unique,
    loose: `{"twice":${one},"twice":${other},"in":${unique}}`,
  }));

/** Parses a text with its numbers as they were written. */
const parseExactNumbers = (text: string): unknown =>
  readJsonText(text, { numberOf: (digits) => `number ${digits}` });

const quoted = (text: string): string => JSON.stringify(text);

const requests: Readonly<Record<DialectName, (input: WrittenJson, schema: string) => string>> = {
  chat: (
    { loose },
    schema,
  ) => `{"model":"m","messages":[{"role":"user","content":"Go"},{"role":"assistant","tool_calls":
    [{"id":"c","type":"function","function":{"name":"act","arguments":${quoted(loose)}}}]},
    {"role":"tool","tool_call_id":"c","content":"done"}],
    "tools":[{"type":"function","function":{"name":"act","parameters":${schema}}}]}`,
  messages: ({ unique }, schema) => `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Go"},
    {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"act","input":${unique}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"done"}]}],
    "tools":[{"name":"act","input_schema":${schema}}]}`,
  responses: ({ loose }, schema) => `{"model":"m","input":[{"role":"user","content":"Go"},
    {"type":"function_call","call_id":"c","name":"act","arguments":${quoted(loose)}},
    {"type":"function_call_output","call_id":"c","output":"done"}],
    "tools":[{"type":"function","name":"act","parameters":${schema}}]}`,
};

const valueAt = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((inner, name) => (inner as Json | undefined)?.[name], value);

const argumentsSentBy: Readonly<
  Record<DialectName | 'gemini', { input: (body: unknown) => unknown; schema: (body: unknown) => unknown }>
> = {
  chat: {
    input: (body) => valueAt(body, 'messages', 1, 'tool_calls', 0, 'function', 'arguments'),
    schema: (body) => valueAt(body, 'tools', 0, 'function', 'parameters'),
  },
  messages: {
    input: (body) => valueAt(body, 'messages', 1, 'content', 0, 'input'),
    schema: (body) => valueAt(body, 'tools', 0, 'input_schema'),
  },
  responses: {
    input: (body) => valueAt(body, 'input', 1, 'arguments'),
    schema: (body) => valueAt(body, 'tools', 0, 'parameters'),
  },
  gemini: {
    input: (body) => valueAt(body, 'contents', 1, 'parts', 0, 'functionCall', 'args'),
    schema: (body) => valueAt(body, 'tools', 0, 'functionDeclarations', 0, 'parametersJsonSchema'),
  },
};

const targets: Readonly<Record<DialectName | 'gemini', SupplierDialect>> = { ...dialects, gemini };
const pairs = names.flatMap((from) =>
  (Object.keys(targets) as (keyof typeof targets)[])
    .filter((to) => to !== from)
    .map((to) => [from, to] as const),
);

test.each(pairs)('history and schema of %s reach a %s supplier as written', (from, to) => {
  fc.assert(
    fc.property(written, value.object, (input, inner) => {
      const schema = `{"type":"object","properties":{"input":{"const":${inner}}}}`;
      const parsed = readJsonObject(Buffer.from(requests[from](input, schema))) as ParsedJsonObject;
      const request = dialects[from].decodeRequest(readVerbatim(parsed, dialects[from].written));
      if (!request.ok) throw request.error;
      const encoded = targets[to].encodeRequest(request.value);
      if (!encoded.ok) throw encoded.error;
      const text = printJson(encoded.value.body);
      const body = parseExactNumbers(text);
      const sentArguments = argumentsSentBy[to].input(body);
      if (from === 'messages') {
        expect(typeof sentArguments === 'string' ? parseExactNumbers(sentArguments) : sentArguments).toEqual(
          parseExactNumbers(input.unique),
        );
      } else if (typeof sentArguments === 'string') expect(sentArguments).toBe(input.loose);
      else expect(text).toContain(input.loose);
      expect(argumentsSentBy[to].schema(body)).toEqual(parseExactNumbers(schema));
    }),
    { numRuns: 200 },
  );
});

const answers: Readonly<Record<DialectName | 'gemini', (input: string) => string>> = {
  chat: (
    input,
  ) => `{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":
    [{"id":"x","type":"function","function":{"name":"act","arguments":${quoted(input)}}}]},"finish_reason":"tool_calls"}]}`,
  messages: (
    input,
  ) => `{"id":"m","model":"m","role":"assistant","content":[{"type":"tool_use","id":"x","name":"act",
    "input":${input}}],"stop_reason":"tool_use"}`,
  responses: (
    input,
  ) => `{"id":"r","model":"m","status":"completed","output":[{"type":"function_call","call_id":"x",
    "name":"act","arguments":${quoted(input)}}]}`,
  gemini: (
    input,
  ) => `{"responseId":"g","candidates":[{"content":{"parts":[{"functionCall":{"name":"act","args":${input}}}]},
    "finishReason":"STOP"}]}`,
};

const argumentsIn: Readonly<Record<DialectName, (answer: Json) => unknown>> = {
  chat: (answer) => valueAt(answer, 'choices', 0, 'message', 'tool_calls', 0, 'function', 'arguments'),
  messages: (answer) => valueAt(answer, 'content', 0, 'input'),
  responses: (answer) => valueAt(answer, 'output', 0, 'arguments'),
};

const answerPairs = pairs.map(([caller, supplier]) => [supplier, caller] as const);

test.each(answerPairs)(
  'arguments of a complete response of %s reach a client of %s as written',
  (from, to) => {
    fc.assert(
      fc.property(written, ({ loose }) => {
        const { decodeAnswer, written: kept } = targets[from];
        const answer = collect(decodeAnswer(readJsonText(answers[from](loose), kept)).events);
        if (!answer.ok) throw answer.error;
        const { body } = dialects[to].encodeAnswer(answer.value, options);
        const receivedArguments = argumentsIn[to](body);
        if (typeof receivedArguments === 'string') expect(receivedArguments).toBe(loose);
        else expect(printJson(body)).toContain(`"input":${loose}`);
      }),
      { numRuns: 200 },
    );
  },
);

/** Streams whose calls arrive within a single event. */
const streams = {
  chat: (input: string) =>
    `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","type":"function",
     "function":{"name":"act","arguments":${input}}}]},"finish_reason":"tool_calls"}]}`,
  messages: (input: string) =>
    `data: {"type":"message_start","message":{"id":"m","model":"m"}}\n\ndata: {"type":"content_block_start","index":0,
     "content_block":{"type":"tool_use","id":"x","name":"act","input":${input}}}\n\ndata: {"type":"content_block_stop",
     "index":0}\n\ndata: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}\n\ndata: {"type":"message_stop"}`,
  gemini: (input: string) => `data: ${answers.gemini(input)}`,
};

test.each(Object.keys(streams) as (keyof typeof streams)[])(
  'arguments in a single event of a %s stream reach every client as written',
  (from) => {
    fc.assert(
      fc.property(written, ({ loose }) => {
        const events: CanonicalEvent[] = [];
        const decoder = targets[from].streamDecoder({ emit: (event) => events.push(event) });
        // An event occupies a single line.
        const text = streams[from](loose.replaceAll('\n', ' ')).replaceAll(/\n +/g, ' ');
        decoder.push(Buffer.from(`${text}\n\n`));
        decoder.end();
        const calls = (list: readonly CanonicalEvent[]): string =>
          list.map((event) => (event.type === 'tool-arguments-delta' ? event.text : '')).join('');
        expect(calls(events)).toBe(loose.replaceAll('\n', ' '));
        for (const to of names) {
          const decodedAgain = decode(to, [Buffer.from(encode(dialects[to].streamEncoder(options), events))]);
          expect(calls(decodedAgain)).toBe(loose.replaceAll('\n', ' '));
        }
      }),
      { numRuns: 200 },
    );
  },
);

test('arbitrarily deep nesting is handled', () => {
  const deepJson = `{"in":${'['.repeat(50_000)}1.0${']'.repeat(50_000)}}`;
  const answer = collect(dialects.chat.decodeAnswer(JSON.parse(answers.chat(deepJson))).events);
  if (!answer.ok) throw answer.error;
  expect(printJson(dialects.messages.encodeAnswer(answer.value, options).body)).toContain(deepJson);
});
