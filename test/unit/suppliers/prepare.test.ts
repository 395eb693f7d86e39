import type { Credential, LaneView } from '../../../src/catalogue';
import { type ParsedJsonObject, readJsonObject } from '../../../src/kernel';
import { bedrock } from '../../../src/routing/suppliers/bedrock/bedrock';
import { encodeForm, type StyleCall, type CoreStyle } from '../../../src/routing/suppliers/kit';
import { messagesStyle } from '../../../src/routing/suppliers/messages-style/messages-style';
import { nativeOauth } from '../../../src/routing/suppliers/native-oauth/native-oauth';
import { openaiStyle } from '../../../src/routing/suppliers/openai-style/openai-style';
import { laneFacts, UNKNOWN_FACTS } from '../../../src/vendors';
import { bearer, header } from './contract-fixtures';

type Json = Record<string, unknown>;

const lane = (settings: Json = {}, baseUrl = 'https://north.example'): LaneView => ({
  id: 1,
  provider: {
    id: 1,
    name: 'n',
    style: 's',
    baseUrl,
    regions: [],
    visible: true,
    settings,
    timeouts: {},
    breaker: {},
  },
  upstreamModel: 'upstream',
  region: 'eu',
  priority: 0,
  weight: 1,
  retries: 0,
  facts: UNKNOWN_FACTS,
  wire: null,
});

const call = (text: string, more: Partial<StyleCall> = {}): StyleCall => ({
  operation: 'chat',
  wire: openaiStyle.operations((more.lane ?? lane()).provider)[more.operation ?? 'chat'] ?? 'chat',
  lane: lane(),
  credential: bearer,
  body: { kind: 'json', text: readJsonObject(Buffer.from(text)) as ParsedJsonObject },
  stream: false,
  headers: {},
  sessionKey: null,
  now: () => new Date(0),
  ...more,
});

function prepareBody(
  style: CoreStyle,
  body: Json,
  more: Partial<StyleCall> = {},
): { body: Json; dropped: string[] } {
  const prepared = style.prepare(call(JSON.stringify({ model: 'asked', ...body }), more));
  const { model: _model, ...rest } = JSON.parse(prepared.body.toString()) as Json;
  return { body: rest, dropped: prepared.dropped.map(({ path }) => path) };
}

const hello = { role: 'user', content: 'Hi' };

describe('OpenAI-style suppliers', () => {
  const withSettings = (settings: Json) => ({ lane: lane(settings) });

  test.each([
    ['openai', { max_tokens: 5 }, { max_completion_tokens: 5 }],
    ['mistral', { max_completion_tokens: 5 }, { max_tokens: 5 }],
    ['generic', { max_completion_tokens: 5 }, { max_completion_tokens: 5 }],
    ['vllm', { max_tokens: 5 }, { max_tokens: 5 }],
    ['mistral', { seed: 7 }, { random_seed: 7 }],
    ['mistral', { tool_choice: 'required' }, { tool_choice: 'any' }],
    ['groq', { tool_choice: 'required' }, { tool_choice: 'required' }],
  ])('%s: %j becomes %j without losses', (profile, body, expected) => {
    expect(prepareBody(openaiStyle, body, withSettings({ profile }))).toEqual({
      body: expected,
      dropped: [],
    });
  });

  test.each([
    ['mistral', { stream_options: { include_usage: true } }, 'stream_options'],
    ['ollama', { tool_choice: 'auto' }, 'tool_choice'],
    ['groq', { logit_bias: {} }, 'logit_bias'],
    ['openai', { max_tokens: 5, max_completion_tokens: 6 }, 'max_tokens'],
  ])('%s: from %j the field %s is dropped and counted', (profile, body, name) => {
    const { body: left, dropped } = prepareBody(openaiStyle, body, withSettings({ profile }));
    expect(left).not.toHaveProperty(name);
    expect(dropped).toEqual([name]);
  });

  test.each([
    ['openai', ['reasoning_content', 'reasoning'], ['name', 'refusal']],
    ['mistral', ['reasoning_content', 'reasoning', 'refusal', 'annotations'], ['name']],
    ['groq', ['name', 'reasoning_content', 'refusal', 'annotations'], ['reasoning']],
  ])('%s: message drops %j and keeps %j', (profile, droppedFields, keptFields) => {
    const fields = Object.fromEntries([...droppedFields, ...keptFields].map((name) => [name, 'x']));
    const messages = [hello, { role: 'assistant', content: 'One', ...fields }, hello];
    const { body, dropped } = prepareBody(openaiStyle, { messages }, withSettings({ profile }));
    const remaining = Object.fromEntries(keptFields.map((name) => [name, 'x']));
    expect(body.messages).toEqual([hello, { role: 'assistant', content: 'One', ...remaining }, hello]);
    expect(dropped.toSorted()).toEqual(droppedFields.map((name) => `messages.*.${name}`).toSorted());
  });

  test('message field without a value is omitted', () => {
    const messages = [hello, { role: 'assistant', content: 'One', refusal: null }];
    const { body, dropped } = prepareBody(openaiStyle, { messages }, withSettings({ profile: 'groq' }));
    expect(body.messages).toEqual([hello, { role: 'assistant', content: 'One' }]);
    expect(dropped).toEqual([]);
  });

  test.each([
    ['groq', ['store', 'prompt_cache_key', 'safety_identifier', 'verbosity', 'prompt_cache_retention']],
    ['mistral', ['store', 'user', 'safety_identifier', 'verbosity', 'prompt_cache_retention']],
  ])('%s: fields without effect on the response are dropped: %j', (profile, names) => {
    const body = Object.fromEntries(names.map((name) => [name, 'x']));
    const { body: left, dropped } = prepareBody(openaiStyle, body, withSettings({ profile }));
    expect(left).toEqual({});
    expect(dropped.toSorted()).toEqual(names.toSorted());
  });

  test('every model turn is returned with its reasoning or an empty text when there are tools', () => {
    const turns = [{ content: 'One' }, { content: 'Two', reasoning_content: 'hm' }];
    const messages = [hello, ...turns.map((turn) => ({ role: 'assistant', ...turn }))];
    const knownModel = {
      lane: { ...lane({ profile: 'deepseek' }), facts: laneFacts('deepseek-v4-pro', {}) },
    };
    const reasoning = (body: Json, more: { lane: LaneView }): unknown[] =>
      (prepareBody(openaiStyle, body, more).body.messages as Json[]).map(
        (message) => message.reasoning_content,
      );
    const tools = [{ type: 'function', function: { name: 'look' } }];
    expect(reasoning({ messages, tools }, knownModel)).toEqual([undefined, '', 'hm']);
    expect(reasoning({ messages }, knownModel)).toEqual([undefined, undefined, 'hm']);
    const unknownModel = { lane: lane({ profile: 'deepseek' }) };
    expect(reasoning({ messages, tools }, unknownModel)).toEqual([undefined, undefined, 'hm']);
  });

  test('developer role becomes system if the supplier does not support it', () => {
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'developer' },
    ];
    const { body, dropped } = prepareBody(openaiStyle, { messages }, withSettings({ profile: 'deepseek' }));
    expect(body.messages).toEqual([{ role: 'system', content: 'Be brief.' }, messages[1]]);
    expect(dropped).toEqual(['messages']);
    expect(prepareBody(openaiStyle, { messages }, withSettings({ profile: 'openai' })).body.messages).toEqual(
      messages,
    );
  });

  test("usage is requested once in a stream, in addition to the caller's options", () => {
    const streamBody = (body: Json, settings = {}) =>
      prepareBody(openaiStyle, body, { ...withSettings(settings), stream: true }).body;
    expect(streamBody({})).toEqual({ stream_options: { include_usage: true } });
    expect(streamBody({ stream_options: { include_obfuscation: false, include_usage: false } })).toEqual({
      stream_options: { include_obfuscation: false, include_usage: true },
    });
    expect(streamBody({}, { profile: 'mistral' })).toEqual({});
    expect(prepareBody(openaiStyle, {}).body).toEqual({});
  });

  test.each([
    ['openai', {}, { max_completion_tokens: 9 }],
    ['openai', { max_tokens: 50 }, { max_completion_tokens: 9 }],
    ['generic', {}, { max_tokens: 9 }],
    ['generic', { max_completion_tokens: 50 }, { max_completion_tokens: 9 }],
  ])('%s: output limit of the hold overrides %j', (profile, body, expected) => {
    expect(prepareBody(openaiStyle, body, { ...withSettings({ profile }), maxOutputTokens: 9 }).body).toEqual(
      expected,
    );
  });

  test('provider settings extend its profile', () => {
    const settings = {
      profile: 'groq',
      drop: ['top_p'],
      rename: { top_k: 'k' },
      key_header: 'X-Key',
      prefix: '/api',
    };
    const prepared = openaiStyle.prepare(
      call('{"top_p":1,"top_k":2,"logprobs":true}', { lane: lane(settings), credential: header }),
    );
    expect(JSON.parse(prepared.body.toString())).toEqual({ model: 'upstream', k: 2 });
    expect(prepared.headers).toMatchObject({ 'x-key': 'sim-secret' });
    expect(prepared.url.href).toBe('https://north.example/api/chat/completions');
  });

  test.each([
    ['https://a.example', 'https://a.example/v1/chat/completions'],
    ['https://a.example/', 'https://a.example/v1/chat/completions'],
    ['https://a.example/openai/v1', 'https://a.example/openai/v1/chat/completions'],
    ['https://a.example/v1beta/', 'https://a.example/v1beta/chat/completions'],
    ['https://a.example/v1/house', 'https://a.example/v1/house/v1/chat/completions'],
  ])('base URL %s', (baseUrl, expected) => {
    expect(openaiStyle.prepare(call('{}', { lane: lane({}, baseUrl) })).url.href).toBe(expected);
  });

  test('Azure is called without deployments on its v1 API', () => {
    const azureLane = lane({ profile: 'azure' }, 'https://house.example/openai/v1/');
    const { url } = openaiStyle.prepare(call('{}', { lane: azureLane, credential: header }));
    expect(url.href).toBe('https://house.example/openai/v1/chat/completions');
  });

  test('local supplier needs and receives no secret', () => {
    const localLane = lane({ profile: 'ollama' });
    expect(openaiStyle.needsCredential(localLane.provider)).toBe(false);
    expect(openaiStyle.prepare(call('{}', { lane: localLane, credential: null })).headers).not.toHaveProperty(
      'authorization',
    );
    expect(openaiStyle.needsCredential(lane().provider)).toBe(true);
  });

  test('session id is sent to a supplier in anonymised form', () => {
    const sessionOptions = { lane: lane({ session_header: 'X-Session-Affinity' }), sessionKey: 'whose' };
    const { headers } = openaiStyle.prepare(call('{}', sessionOptions));
    expect(headers['x-session-affinity']).toMatch(/^[0-9a-f]{32}$/);
    expect(openaiStyle.prepare(call('{}', { sessionKey: 'whose' })).headers).not.toHaveProperty(
      'x-session-affinity',
    );
  });
});

test('secret of the wrong kind is a configuration error', () => {
  const credential: Credential = { kind: 'sigv4', id: 'c', accessKeyId: 'a', secretAccessKey: 'b' };
  expect(() => openaiStyle.prepare(call('{}', { credential }))).toThrow(
    expect.objectContaining({ code: 'configuration_error' }) as Error,
  );
});

describe('Messages-style suppliers', () => {
  const messages = (headers: StyleCall['headers'], credential: Credential = header) =>
    messagesStyle.prepare(call('{"max_tokens":9}', { operation: 'messages', headers, credential })).headers;

  test("caller's version and betas pass unchanged", () => {
    const callerHeaders = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'one-2026,two' };
    expect(messages(callerHeaders)).toMatchObject(callerHeaders);
    expect(messages({})['anthropic-version']).toBe('2023-06-01');
  });

  test('conversation-bound thinking is requested with its beta once', () => {
    const beta = 'thinking-binding-controls-2026-08-01';
    const boundThinkingBody =
      '{"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}}';
    const betasWith = (headers: StyleCall['headers'], text = boundThinkingBody): unknown =>
      messagesStyle.prepare(call(text, { operation: 'messages', headers })).headers['anthropic-beta'];
    expect(betasWith({})).toBe(beta);
    expect(betasWith({ 'anthropic-beta': 'one, two' })).toBe(`one, two,${beta}`);
    expect(betasWith({ 'anthropic-beta': `one,${beta}` })).toBe(`one,${beta}`);
    expect(betasWith({}, '{"thinking":{"type":"adaptive"}}')).toBeUndefined();
    const { body } = bedrock.prepare(
      call(boundThinkingBody, { operation: 'messages', headers: { 'anthropic-beta': 'one' } }),
    );
    expect(JSON.parse(body.toString())).toMatchObject({ anthropic_beta: ['one', beta] });
  });

  test('secret is sent in the header of its kind', () => {
    expect(messages({}, bearer)).toMatchObject({ authorization: 'Bearer sim-secret' });
    expect(messages({}, bearer)).not.toHaveProperty('x-api-key');
    expect(messages({})).not.toHaveProperty('authorization');
  });

  test('token count omits the fields that it rejects', () => {
    const body = { messages: [], max_tokens: 5, stream: true, temperature: 1, system: 's' };
    expect(prepareBody(messagesStyle, body, { operation: 'count_tokens' })).toEqual({
      body: { messages: [], system: 's' },
      dropped: [],
    });
  });

  test('body is unchanged except for the model name', () => {
    const text = '{ "model" : "asked", "seed":12345678901234567890 , "context_management":{ "edits":[] } }';
    const prepared = messagesStyle.prepare(call(text, { operation: 'messages' }));
    expect(prepared.body.toString()).toContain(
      '"seed":12345678901234567890 , "context_management":{ "edits":[] }',
    );
  });
});

test('Bedrock call has model and stream in its address, and version and betas in its body', () => {
  const body = { model: 'asked', stream: true, anthropic_version: 'of the caller', max_tokens: 5 };
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'one, two' };
  const streamOptions = { stream: true, headers, lane: { ...lane(), upstreamModel: 'anthropic.x-v2:0' } };
  const prepared = bedrock.prepare(call(JSON.stringify(body), streamOptions));
  expect(prepared.url.pathname).toBe('/model/anthropic.x-v2%3A0/invoke-with-response-stream');
  expect(JSON.parse(prepared.body.toString())).toEqual({
    max_tokens: 5,
    anthropic_version: 'bedrock-2023-05-31',
    anthropic_beta: ['one', 'two'],
  });
  expect(prepared.headers).toMatchObject({
    authorization: 'Bearer sim-secret',
    accept: 'application/vnd.amazon.eventstream',
  });
});

describe('Native passthrough', () => {
  const credential: Credential = { kind: 'oauth-pool', id: 'c', accessToken: 't' };
  const prepareNative = (text: string, more: Partial<StyleCall> = {}) =>
    nativeOauth.prepare(call(text, { operation: 'native', credential, stream: true, ...more }));

  test('is forwarded byte for byte', () => {
    const text =
      '{ "model":"upstream","x":[1 , 2],"include":["reasoning.encrypted_content"], "store":false }';
    const nativeCall = call(text, { operation: 'native', credential });
    const prepared = nativeOauth.prepare(nativeCall);
    expect(nativeCall.body.kind === 'json' && prepared.body.buffer === nativeCall.body.text.bytes).toBe(true);
    expect(prepared.dropped).toEqual([]);
  });

  test('changes only the model name under an alias', () => {
    const text = '{"x":[1 , 2],"model":"asked", "store":false}';
    expect(prepareNative(text).body.toString()).toBe('{"x":[1 , 2],"model":"upstream", "store":false}');
  });

  test("forwards the agent's identification headers only", () => {
    const headers = {
      originator: 'agent',
      session_id: 's',
      'openai-beta': 'responses=experimental',
      cookie: 'c',
    };
    expect(prepareNative('{}', { headers }).headers).toMatchObject({ originator: 'agent', session_id: 's' });
    expect(prepareNative('{}', { headers }).headers).not.toHaveProperty('cookie');
  });
});

describe('Forms', () => {
  const file = {
    field: 'file',
    name: 'Grüße".wav\r\nx: y',
    type: 'audio/wav',
    bytes: Buffer.from([0, 13, 10, 45, 45, 255]),
  };

  test('contain the upstream model and the complete file without routing fields', async () => {
    const prepared = openaiStyle.prepare(
      call('{}', {
        operation: 'transcription',
        body: {
          kind: 'form',
          fields: [
            ['language', 'de'],
            ['model', 'asked'],
            ['api_base', 'https://thief.example'],
            ['model', 'twice'],
          ],
          files: [file],
        },
      }),
    );
    expect(prepared.dropped.map(({ path }) => path)).toEqual(['api_base']);
    const response = new Response(new Uint8Array(prepared.body.buffer), {
      headers: { 'content-type': prepared.headers['content-type']! },
    });
    const form = await response.formData();
    expect(form.getAll('model')).toEqual(['upstream']);
    expect(form.get('language')).toBe('de');
    expect([...form.keys()].sort()).toEqual(['file', 'language', 'model']);
    const received = form.get('file') as File;
    expect(Buffer.from(await received.arrayBuffer())).toEqual(file.bytes);
    expect(received.type).toBe('audio/wav');
  });

  test('escape names, types and values so that they cannot add a part', () => {
    const hostile = 'x"\r\nContent-Disposition: form-data; name="model"\r\n\r\nevil';
    const { bytes } = encodeForm({
      fields: [[hostile, 'v']],
      files: [{ ...file, name: hostile, type: hostile }],
    });
    expect(bytes.buffer.toString('latin1')).not.toContain('\r\nContent-Disposition: form-data; name="model"');
  });
});

describe('Gateway labels', () => {
  const gatewayLabels = { no_eval: true, session_id: 's', sticky_key: 'k', tags: ['a'] };
  const paths = Object.keys(gatewayLabels).map((name) => `metadata.${name}`);
  const messages = { messages: [] };

  test.each<[string, CoreStyle, Partial<StyleCall>]>([
    ['Anthropic', messagesStyle, { operation: 'messages', lane: lane({}, 'https://api.anthropic.com') }],
    ['Bedrock', bedrock, { operation: 'messages' }],
    ['OpenAI', openaiStyle, { lane: lane({ profile: 'openai' }) }],
    ['Azure', openaiStyle, { lane: lane({ profile: 'azure' }) }],
  ])(
    "are removed for %s, which rejects them, while the caller's own labels are kept",
    (_name, style, more) => {
      const mixedLabels = prepareBody(
        style,
        { ...messages, metadata: { ...gatewayLabels, user_id: 'u', project: 'p' } },
        more,
      );
      expect(mixedLabels.body['metadata']).toEqual({ user_id: 'u', project: 'p' });
      expect(mixedLabels.dropped).toEqual(paths);
      const gatewayOnly = prepareBody(style, { ...messages, metadata: gatewayLabels }, more);
      expect(gatewayOnly.body).not.toHaveProperty('metadata');
      expect(gatewayOnly.dropped).toEqual(paths);
      const callerOnly = prepareBody(style, { ...messages, metadata: { user_id: 'u' } }, more);
      expect([callerOnly.body['metadata'], callerOnly.dropped]).toEqual([{ user_id: 'u' }, []]);
    },
  );
});
