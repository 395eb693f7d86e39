import { collect, type DialectName, dialects, supplierFault } from '../../../src/protocol';
import { decode, type Json } from './transcripts';

test.each<[DialectName, Json, string, string]>([
  [
    'chat',
    {
      error: {
        message: "This model's maximum context length is 8 tokens.",
        type: 'invalid_request_error',
        code: null,
      },
    },
    'context_length',
    'context_length_exceeded',
  ],
  [
    'chat',
    { error: { message: 'x', code: 'context_length_exceeded', param: 'messages' } },
    'context_length',
    'context_length_exceeded',
  ],
  ['chat', { error: { message: 'filtered', code: 'content_filter' } }, 'content_filter', 'request_rejected'],
  [
    'chat',
    { error: { message: 'Slow down', type: 'requests', code: 'rate_limit_exceeded' } },
    'rate_limit',
    'supplier_limit',
  ],
  [
    'chat',
    { error: { message: 'Incorrect API key provided: sk-1', code: 'invalid_api_key' } },
    'auth',
    'provider_unavailable',
  ],
  [
    'chat',
    { error: { message: 'You exceeded your quota', type: 'insufficient_quota' } },
    'account',
    'provider_unavailable',
  ],
  ['chat', { error: { message: 'no', code: 'model_not_found' } }, 'not_found', 'model_unavailable'],
  ['chat', { error: 'just words' }, 'unknown', 'upstream_error'],
  [
    'chat',
    { object: 'error', message: 'vLLM says no', type: 'invalid_request_error', code: 400 },
    'invalid',
    'invalid_request',
  ],
  [
    'chat',
    {
      error: {
        message: "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64.",
        type: 'invalid_request_error',
        code: 'string_above_max_length',
      },
    },
    'invalid',
    'invalid_request',
  ],
  ['chat', { detail: 'Not Found' }, 'unknown', 'upstream_error'],
  ['chat', { error: { message: 'x', type: 'constructor', code: '__proto__' } }, 'unknown', 'upstream_error'],
  [
    'messages',
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 250000 tokens > 200000 maximum' },
    },
    'context_length',
    'context_length_exceeded',
  ],
  [
    'messages',
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    'overloaded',
    'upstream_unavailable',
  ],
  [
    'messages',
    { type: 'error', error: { type: 'permission_error', message: 'no' } },
    'auth',
    'provider_unavailable',
  ],
  [
    'messages',
    { type: 'error', error: { type: 'not_found_error', message: 'model: x' } },
    'not_found',
    'model_unavailable',
  ],
  [
    'messages',
    { type: 'error', error: { type: 'invalid_request_error', message: 'max_tokens: Field required' } },
    'invalid',
    'invalid_request',
  ],
  [
    'responses',
    { type: 'error', code: 'rate_limit_exceeded', message: 'x', param: null },
    'rate_limit',
    'supplier_limit',
  ],
  [
    'responses',
    { type: 'response.failed', response: { error: { code: 'server_error', message: 'x' } } },
    'overloaded',
    'upstream_unavailable',
  ],
  ['responses', { type: 'response.failed', response: { error: null } }, 'unknown', 'upstream_error'],
])('%s %j is %s', (dialect, body, kind, code) => {
  const error = dialects[dialect].readError(body)!;
  expect(error.kind).toBe(kind);
  const fault = supplierFault(error);
  expect(fault.code).toBe(code);
  // A client must never mistake a supplier's complaint about the gateway's key for one about its own.
  expect([401, 403]).not.toContain(fault.status);
  expect(
    JSON.stringify(fault.options.details ?? {}).includes(`"message":${JSON.stringify(error.message)}`),
  ).toBe(['invalid', 'context_length', 'content_filter'].includes(kind));
});

test.each<[DialectName, Json]>([
  ['chat', { choices: [], error: null }],
  ['messages', { type: 'message', content: [] }],
  ['responses', { object: 'response', status: 'completed', error: null, output: [] }],
])('%s response is not an error', (dialect, body) => {
  expect(dialects[dialect].readError(body)).toBeUndefined();
});

test('structured details of a supplier error reach the client', () => {
  const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };
  const error = dialects.messages.readError({
    type: 'error',
    error: { type: 'invalid_request_error', message: 'x', details },
  })!;
  expect(supplierFault(error).options.details).toMatchObject(details);
});

const sse = (...events: (Json | string)[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
const started = {
  type: 'message_start',
  message: { id: 'm', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } },
};

test.each<[string, DialectName, string, string]>([
  ['nothing', 'chat', '', 'empty_response'],
  ['comments alone', 'chat', ': hello\n\n', 'empty_response'],
  ['not JSON', 'chat', sse('<html>'), 'non_json_provider_response'],
  ['JSON that is no object', 'messages', sse('[1]'), 'non_json_provider_response'],
  ['a page in place of a stream', 'responses', '<!doctype html><p>Bad gateway</p>', 'empty_response'],
  [
    'a piece of a call before the call',
    'chat',
    sse({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: '{' } }] } }] }),
    'agentcli_incomplete_stream',
  ],
  [
    'a block before the message',
    'messages',
    sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    'agentcli_incomplete_stream',
  ],
  [
    'a piece before its block',
    'messages',
    sse(started, { type: 'content_block_delta', index: 3, delta: { type: 'text_delta', text: 'x' } }),
    'agentcli_incomplete_stream',
  ],
  [
    'the end of a block that never began',
    'messages',
    sse(started, { type: 'content_block_stop', index: 0 }),
    'agentcli_incomplete_stream',
  ],
  [
    'an end without a reason',
    'messages',
    sse(started, { type: 'message_stop' }),
    'agentcli_incomplete_stream',
  ],
  [
    'a clean close without the terminator',
    'messages',
    sse(started, { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
    'agentcli_incomplete_stream',
  ],
  [
    'an item before the response',
    'responses',
    sse({ type: 'response.output_item.added', output_index: 0, item: { type: 'message' } }),
    'agentcli_incomplete_stream',
  ],
  [
    'a piece before its item',
    'responses',
    sse(
      { type: 'response.created', response: { id: 'r' } },
      { type: 'response.output_text.delta', output_index: 0, delta: 'x' },
    ),
    'agentcli_incomplete_stream',
  ],
])('%s is never reported as a complete response', (_name, dialect, text, code) => {
  const events = decode(dialect, [Buffer.from(text)]);
  expect(collect(events)).toMatchObject({ ok: false, error: { code } });
  expect(events.filter(({ type }) => type === 'fault' || type === 'message-end')).toHaveLength(1);
});

test('endless event is rejected before it fills the memory', () => {
  const codes: string[] = [];
  const decoder = dialects.chat.streamDecoder({
    maxEventBytes: 1000,
    emit: (event) => event.type === 'fault' && codes.push(event.fault.code),
  });
  for (let step = 0; step < 50; step++) decoder.push(Buffer.from(`data: ${'x'.repeat(100)}`));
  decoder.end();
  expect(codes).toEqual(['provider_response_too_large']);
  expect(decoder.complete).toBe(false);
});

test.each<[DialectName, unknown, string]>([
  ['chat', 'text', 'upstream_invalid_response'],
  ['chat', { choices: [] }, 'upstream_invalid_response'],
  ['messages', { type: 'message' }, 'upstream_invalid_response'],
  ['responses', { object: 'response' }, 'upstream_invalid_response'],
  ['responses', null, 'upstream_invalid_response'],
  ['chat', { choices: [{ message: { content: '' } }] }, 'empty_response'],
  ['messages', { content: [] }, 'empty_response'],
  ['responses', { output: [] }, 'empty_response'],
])('%s: %j is not a complete response', (dialect, body, code) => {
  expect(collect(dialects[dialect].decodeAnswer(body).events)).toMatchObject({ ok: false, error: { code } });
});

const chunk = (choice: Json): Json => ({ id: 'c', model: 'm', choices: [{ index: 0, ...choice }] });

test('known deviations of compatible suppliers are accepted', () => {
  const call = (extra: Json): Json => ({ delta: { tool_calls: [extra] } });
  // Every call index is 0, identifiers are missing, the reason is "stop" and [DONE] is missing.
  const events = decode('chat', [
    Buffer.from(
      sse(
        { id: '', choices: [], prompt_filter_results: [] },
        chunk(call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } })),
        chunk(call({ index: 0, id: 'b', function: { name: 'g', arguments: { x: 1 } } })),
        chunk(call({ function: { name: 'h', arguments: '{}' } })),
        chunk({ delta: {}, finish_reason: 'stop' }),
      ),
    ),
  ]);
  const complete = collect(events);
  if (!complete.ok) throw complete.error;
  expect(complete.value.finish).toEqual({ unified: 'tool-calls', raw: 'stop' });
  expect(complete.value.blocks).toMatchObject([
    { id: 'a', name: 'f', arguments: '{}' },
    { id: 'b', name: 'g', arguments: '{"x":1}' },
    { name: 'h', arguments: '{}', id: expect.stringMatching(/^call_[0-9a-f]{32}$/) },
  ]);
});

test('unmapped stream content is counted', () => {
  const decoder = dialects.messages.streamDecoder({ emit: () => undefined });
  decoder.push(
    Buffer.from(
      sse(
        started,
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'server_tool_use', id: 's', name: 'web_search' },
        },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'brand_new' },
      ),
    ),
  );
  expect(decoder.dropped).toMatchObject([
    { path: 'content', reason: 'a block of the type server_tool_use', count: 1 },
    { path: 'events', count: 1 },
  ]);
});

test('unmapped content of a complete response is counted on both sides', () => {
  const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' };
  const text = { type: 'text', text: 'A', citations: [{ type: 'char_location' }] };
  const content = [thinking, text, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }];
  const usage = { input_tokens: 1, output_tokens: 2 };
  const decoded = dialects.messages.decodeAnswer({
    id: 'm',
    model: 'm',
    content,
    stop_reason: 'end_turn',
    usage,
  });
  expect(decoded.dropped).toMatchObject([{ path: 'content', count: 1 }]);
  expect(decoded.usage).toMatchObject({ kind: 'ok', usage: { inputTokens: 1, outputTokens: 2 } });
  const complete = collect(decoded.events);
  if (!complete.ok) throw complete.error;
  const lostPaths = (target: DialectName): string[] =>
    dialects[target].encodeAnswer(complete.value, { requestId: 'r' }).dropped.map(({ path }) => path);
  expect(lostPaths('chat')).toEqual(['reasoning.signature', 'citation']);
  expect(lostPaths('responses')).toEqual(['reasoning.signature', 'citation']);
  expect(lostPaths('messages')).toEqual(['citation']);
});

test('validation details are reported in words with their positions', () => {
  const extraField = (...loc: (string | number)[]) => ({ type: 'extra_forbidden', loc, msg: 'Extra inputs' });
  const detail = [extraField('body', 'store'), extraField('body', 'messages', 0, 'user', 'name')];
  const body = { object: 'error', message: { detail }, type: 'invalid_request_error' };
  expect(dialects.chat.readError(body)).toMatchObject({
    kind: 'invalid',
    message: 'Extra inputs: body.store; Extra inputs: body.messages.0.user.name',
  });
});
