import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { printJson } from '../../../src/kernel';
import { type CanonicalEvent, collect, dialects, gemini } from '../../../src/protocol';

type Json = Record<string, unknown>;

const stream = readFileSync(join(__dirname, '../../fixtures/suppliers/gemini-stream.sse'));

function decode(...chunks: Buffer[]): { events: CanonicalEvent[]; dropped: number } {
  const events: CanonicalEvent[] = [];
  const decoder = gemini.streamDecoder({ emit: (event) => events.push(event) });
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return { events, dropped: decoder.dropped.length };
}

function encode(body: Json, dialect: 'chat' | 'messages' = 'chat'): { body: Json; dropped: string[] } {
  const request = dialects[dialect].decodeRequest({ model: 'm', ...body });
  if (!request.ok) throw request.error;
  const encoded = gemini.encodeRequest(request.value);
  if (!encoded.ok) throw encoded.error;
  return {
    body: JSON.parse(printJson(encoded.value.body)) as Json,
    dropped: encoded.value.dropped.map(({ path, loss }) => `${loss} ${path}`),
  };
}

const user = { role: 'user', content: 'Hello' };

/** Returns the events without identifiers, which the gateway generates as the supplier has none. */
const withoutIds = (events: CanonicalEvent[]): unknown =>
  JSON.parse(JSON.stringify(events).replaceAll(/"call_[0-9a-f]+"/g, '"call"'));

test('stream becomes reasoning, text, calls, usage and an end', () => {
  const { events, dropped } = decode(stream);
  const answer = collect(events);
  if (!answer.ok) throw answer.error;
  expect(answer.value).toMatchObject({
    id: 'r-1',
    model: 'gemini-x',
    blocks: [
      { type: 'reasoning', text: 'Weighing it up.' },
      { type: 'text', text: 'Grüße aus Köln' },
      { type: 'tool', name: 'weather', arguments: '{"city":"Köln"}' },
      { type: 'tool', name: 'clock', arguments: '{}' },
    ],
    finish: { unified: 'tool-calls', raw: 'STOP' },
    usage: { inputTokens: 15, cacheReadTokens: 5, outputTokens: 9, reasoningTokens: 4 },
  });
  expect(dropped).toBe(1);
});

test('stream split at any byte decodes the same', () => {
  const completeEvents = withoutIds(decode(stream).events);
  for (let at = 1; at < stream.length; at += 1) {
    expect(withoutIds(decode(stream.subarray(0, at), stream.subarray(at)).events)).toEqual(completeEvents);
  }
});

test('complete response decodes like the stream', () => {
  const body = {
    candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'MAX_TOKENS' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
    responseId: 'r-2',
    modelVersion: 'g',
  };
  const answer = collect(gemini.decodeAnswer(body).events);
  expect(answer).toMatchObject({
    ok: true,
    value: { blocks: [{ type: 'text', text: 'Hi' }], finish: { unified: 'length', raw: 'MAX_TOKENS' } },
  });
  expect(gemini.decodeAnswer(body).events).toEqual(
    decode(Buffer.from(`data: ${JSON.stringify(body)}\n\n`)).events,
  );
});

test('blocked prompt ends the response with a content filter instead of empty text', () => {
  const answer = collect(gemini.decodeAnswer({ promptFeedback: { blockReason: 'SAFETY' } }).events);
  expect(answer).toMatchObject({ ok: true, value: { blocks: [], finish: { unified: 'content-filter' } } });
});

test.each([
  ['cut', stream.subarray(0, stream.indexOf('data: ', 300) - 1), 'agentcli_incomplete_stream'],
  ['silent', Buffer.alloc(0), 'empty_response'],
  ['not JSON', Buffer.from('data: <html>\n\n'), 'non_json_provider_response'],
  [
    'an error',
    Buffer.from('data: {"error":{"status":"UNAVAILABLE","message":"later"}}\n\n'),
    'upstream_unavailable',
  ],
])('stream that is %s ends in a fault', (_name, bytes, code) => {
  expect(decode(bytes).events.at(-1)).toMatchObject({ type: 'fault', fault: { code } });
});

test.each([
  [
    'INVALID_ARGUMENT',
    'The input token count (9) exceeds the maximum number of tokens allowed (8).',
    undefined,
    'context_length',
  ],
  ['INVALID_ARGUMENT', 'API key not valid.', [{ reason: 'API_KEY_INVALID' }], 'auth'],
  ['INVALID_ARGUMENT', 'Unknown name "x"', undefined, 'invalid'],
  ['PERMISSION_DENIED', 'no', undefined, 'auth'],
  ['NOT_FOUND', 'models/x is not found', undefined, 'not_found'],
  ['RESOURCE_EXHAUSTED', 'Quota exceeded', undefined, 'rate_limit'],
  ['UNAVAILABLE', 'The model is overloaded.', undefined, 'overloaded'],
  ['ODD', '', undefined, 'unknown'],
])('error %s "%s" is mapped to its kind', (status, message, details, kind) => {
  expect(gemini.readError({ error: { status, message, details } })).toMatchObject({ kind, message });
  expect(gemini.readError([{ error: { status, message, details } }])).toMatchObject({ kind });
});

test('conversation with tools is converted', () => {
  const call = (id: string, name: string): Json => ({
    id,
    type: 'function',
    function: { name, arguments: '{"city":"Rome"}' },
  });
  const { body, dropped } = encode({
    messages: [
      { role: 'system', content: 'Be brief.' },
      user,
      { role: 'assistant', content: 'Looking.', tool_calls: [call('a', 'weather'), call('b', 'clock')] },
      { role: 'tool', tool_call_id: 'b', content: 'noon' },
      { role: 'tool', tool_call_id: 'a', content: 'sunny' },
    ],
    tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'weather' } },
  });
  const signedPart = { thoughtSignature: 'skip_thought_signature_validator' };
  expect(body).toEqual({
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'Hello' }] },
      {
        role: 'model',
        parts: [
          { text: 'Looking.' },
          { functionCall: { name: 'weather', args: { city: 'Rome' } }, ...signedPart },
          { functionCall: { name: 'clock', args: { city: 'Rome' } }, ...signedPart },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'clock', response: { output: 'noon' } } },
          { functionResponse: { name: 'weather', response: { output: 'sunny' } } },
        ],
      },
    ],
    tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: { type: 'object' } }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['weather'] } },
    generationConfig: {},
  });
  expect(dropped).toEqual([]);
});

test('settings are converted', () => {
  const schema = { type: 'object', properties: {} };
  const { body } = encode({
    messages: [user],
    max_tokens: 50,
    temperature: 0.5,
    top_p: 0.9,
    seed: 7,
    stop: ['END'],
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
  });
  expect(body.generationConfig).toEqual({
    maxOutputTokens: 50,
    temperature: 0.5,
    topP: 0.9,
    seed: 7,
    stopSequences: ['END'],
    responseMimeType: 'application/json',
    responseJsonSchema: schema,
  });
});

test.each([
  [{ thinking: { type: 'disabled' } }, { thinkingBudget: 0 }],
  [{ thinking: { type: 'enabled', budget_tokens: 2048 } }, { thinkingBudget: 2048, includeThoughts: true }],
  [{ thinking: { type: 'adaptive' } }, { thinkingBudget: -1, includeThoughts: true }],
])('thinking %j is converted', (wish, thinkingConfig) => {
  const { body } = encode({ messages: [user], max_tokens: 4096, ...wish }, 'messages');
  expect(body.generationConfig).toMatchObject({ thinkingConfig });
});

test('attachments are inlined, images in results follow them and cache marks are counted', () => {
  const imageBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
  const { body, dropped } = encode(
    {
      max_tokens: 10,
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'See', cache_control: { type: 'ephemeral' } }, imageBlock],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't', is_error: true, content: [imageBlock] }],
        },
      ],
    },
    'messages',
  );
  const inlineImage = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
  expect(body.contents).toMatchObject([
    { role: 'user', parts: [{ text: 'See' }, inlineImage] },
    { role: 'model' },
    { role: 'user', parts: [{ functionResponse: { name: 'look', response: { error: '' } } }, inlineImage] },
  ]);
  expect(dropped).toEqual([
    'dropped messages.*.content.*.cache_control',
    'approximated messages.*.content.*',
  ]);
});

test('unsupported required features are rejected', () => {
  const request = dialects.messages.decodeRequest({
    model: 'm',
    max_tokens: 10,
    messages: [user],
    thread: { type: 'create' },
  });
  if (!request.ok) throw request.error;
  expect(gemini.encodeRequest(request.value)).toMatchObject({
    ok: false,
    error: { code: 'unsupported_parameter' },
  });
});
