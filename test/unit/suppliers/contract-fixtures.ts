import type { Credential } from '../../../src/catalogue';
import type { ContractFixtures } from '../../../src/routing/suppliers/kit';

type FixtureCall = ContractFixtures['calls'][number];
type FixtureErrors = ContractFixtures['errors'];

export const bearer: Credential = { kind: 'bearer', id: 'c', token: 'sim-secret' };
export const header: Credential = { kind: 'header', id: 'c', value: 'sim-secret' };

const messages = [{ role: 'user', content: 'Hello' }];
const chat = { model: 'asked-for', messages };
const generate = { ...chat, max_tokens: 20 };

const calls = (
  entries: readonly (readonly [FixtureCall['operation'], FixtureCall['body'], string])[],
  modelIn: FixtureCall['modelIn'] = 'body',
): FixtureCall[] => entries.map(([operation, body, path]) => ({ operation, body, path, modelIn }));

const asStream = (call: FixtureCall, path = call.path): FixtureCall => ({
  ...call,
  stream: true,
  path,
  body: call.modelIn === 'body' ? { ...call.body, stream: true } : call.body,
});

const chatError = (message: string, type: string, code: string | null = null): object => ({
  error: { message, type, code, param: null },
});
const messagesError = (type: string, message: string): object => ({
  type: 'error',
  error: { type, message },
});

/** Expected faults of every style for a body without a message. */
const errorsWithoutMessage: FixtureErrors = [
  { status: 400, body: '', kind: 'invalid' },
  { status: 401, body: '<html>no</html>', kind: 'auth' },
  { status: 402, body: '{}', kind: 'account' },
  { status: 403, body: 'forbidden', kind: 'auth' },
  { status: 404, body: '', kind: 'not_found' },
  { status: 408, body: '', kind: 'overloaded' },
  { status: 413, body: '', kind: 'invalid' },
  { status: 429, body: '[]', kind: 'rate_limit' },
  { status: 500, body: 'null', kind: 'overloaded' },
  { status: 503, body: '"sorry"', kind: 'overloaded' },
  { status: 529, body: '', kind: 'overloaded' },
  { status: 302, body: '', kind: 'unknown' },
];

const chatErrors: FixtureErrors = [
  ...errorsWithoutMessage,
  {
    status: 400,
    body: chatError('too long', 'invalid_request_error', 'context_length_exceeded'),
    kind: 'context_length',
  },
  {
    status: 400,
    body: chatError("This model's maximum context length is 8 tokens.", 'BadRequestError'),
    kind: 'context_length',
  },
  {
    status: 400,
    body: chatError('filtered', 'invalid_request_error', 'content_filter'),
    kind: 'content_filter',
  },
  { status: 400, body: chatError('bad', 'invalid_request_error'), kind: 'invalid' },
  {
    status: 401,
    body: chatError('Incorrect API key', 'invalid_request_error', 'invalid_api_key'),
    kind: 'auth',
  },
  { status: 403, body: chatError('blocked', 'x', 'content_filter'), kind: 'content_filter' },
  { status: 404, body: chatError('no model', 'invalid_request_error', 'model_not_found'), kind: 'not_found' },
  { status: 422, body: { detail: 'Field required' }, kind: 'invalid' },
  { status: 429, body: chatError('slow down', 'requests', 'rate_limit_exceeded'), kind: 'rate_limit' },
  { status: 429, body: chatError('pay first', 'insufficient_quota', 'insufficient_quota'), kind: 'account' },
  { status: 500, body: chatError('oops', 'server_error'), kind: 'overloaded' },
  {
    status: 500,
    body: chatError('maximum context length exceeded', 'InternalServerError'),
    kind: 'context_length',
  },
];

const messagesErrors: FixtureErrors = [
  ...errorsWithoutMessage,
  {
    status: 400,
    body: messagesError('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'),
    kind: 'context_length',
  },
  { status: 400, body: messagesError('invalid_request_error', 'messages: required'), kind: 'invalid' },
  { status: 401, body: messagesError('authentication_error', 'invalid x-api-key'), kind: 'auth' },
  { status: 403, body: messagesError('permission_error', 'not yours'), kind: 'auth' },
  { status: 404, body: messagesError('not_found_error', 'model: x'), kind: 'not_found' },
  { status: 413, body: messagesError('request_too_large', 'too large'), kind: 'invalid' },
  { status: 429, body: messagesError('rate_limit_error', 'slow down'), kind: 'rate_limit' },
  { status: 500, body: messagesError('api_error', 'oops'), kind: 'overloaded' },
  { status: 529, body: messagesError('overloaded_error', 'Overloaded'), kind: 'overloaded' },
];

const singleShots: readonly [FixtureCall['operation'], FixtureCall['body'], string][] = [
  ['completions', { model: 'asked-for', prompt: 'Once' }, '/v1/completions'],
  ['embeddings', { model: 'asked-for', input: 'text' }, '/v1/embeddings'],
  ['speech', { model: 'asked-for', input: 'text', voice: 'alloy' }, '/v1/audio/speech'],
  ['image', { model: 'asked-for', prompt: 'a house' }, '/v1/images/generations'],
  ['moderation', { model: 'asked-for', input: 'text' }, '/v1/moderations'],
  ['transcription', { model: 'asked-for' }, '/v1/audio/transcriptions'],
  ['translation', { model: 'asked-for' }, '/v1/audio/translations'],
];
const rerank: readonly [FixtureCall['operation'], FixtureCall['body'], string] = [
  'rerank',
  { model: 'asked-for', query: 'q', documents: ['a', 'b'] },
  '/v1/rerank',
];

const chatCompletionsPath = '/v1/chat/completions';
const openaiCalls = calls([
  ['chat', chat, chatCompletionsPath],
  ['messages', chat, chatCompletionsPath],
  ...singleShots,
]);

export const openai: ContractFixtures = {
  baseUrl: 'https://north.example',
  settings: { profile: 'openai' },
  credential: bearer,
  authorisation: { authorization: 'Bearer sim-secret' },
  calls: [
    ...openaiCalls,
    asStream(openaiCalls[0]!),
    ...calls([
      ['responses', { model: 'asked-for', input: [{ role: 'user', content: 'Hello' }] }, '/v1/responses'],
    ]),
  ],
  errors: chatErrors,
};

export const generic: ContractFixtures = {
  ...openai,
  settings: {},
  calls: [...openaiCalls, ...calls([['responses', chat, chatCompletionsPath], rerank])],
};

const deployment = '/openai/deployments/model-upstream';
const version = '?api-version=2024-10-21';

export const azure: ContractFixtures = {
  ...openai,
  baseUrl: 'https://house.openai.azure.example',
  settings: { profile: 'azure' },
  credential: header,
  authorisation: { 'api-key': 'sim-secret' },
  calls: openai.calls
    .filter(({ operation, stream }) => operation !== 'moderation' && stream !== true)
    .map((call) =>
      // Responses requests use no deployment in the address and no dated version.
      call.operation === 'responses'
        ? { ...call, path: '/openai/v1/responses' }
        : { ...call, modelIn: 'path', path: deployment + call.path.slice('/v1'.length) + version },
    ),
};

const messagesPath = '/v1/messages';
const messagesCalls = calls([
  ['messages', generate, messagesPath],
  ['chat', generate, messagesPath],
  ['responses', generate, messagesPath],
  ['count_tokens', generate, `${messagesPath}/count_tokens`],
]);

export const messagesStyle: ContractFixtures = {
  baseUrl: 'https://south.example/',
  credential: header,
  authorisation: { 'x-api-key': 'sim-secret', 'anthropic-version': '2023-06-01' },
  calls: [...messagesCalls, asStream(messagesCalls[0]!)],
  errors: messagesErrors,
};

const nativeBody = {
  model: 'asked-for',
  stream: true,
  store: false,
  input: [{ role: 'user', content: 'Hello' }],
};

const nativeCall = (path: string): FixtureCall => ({
  operation: 'native',
  body: nativeBody,
  stream: true,
  path,
  modelIn: 'body',
});

export const sandbox: ContractFixtures = {
  baseUrl: 'http://127.0.0.1:9',
  credential: null,
  authorisation: { authorization: 'Bearer sim-sandbox' },
  calls: [
    ...openai.calls.filter(({ operation }) => operation !== 'messages'),
    ...calls([rerank]),
    ...messagesCalls.filter(({ operation }) => operation === 'messages' || operation === 'count_tokens'),
    nativeCall('/v1/responses'),
  ],
  errors: [...chatErrors, ...messagesErrors],
};

export const cohere: ContractFixtures = {
  baseUrl: 'https://rank.example',
  credential: bearer,
  authorisation: { authorization: 'Bearer sim-secret' },
  calls: calls([[rerank[0], rerank[1], '/v2/rerank']]),
  errors: [
    ...errorsWithoutMessage,
    { status: 400, body: { message: 'invalid request' }, kind: 'invalid' },
    { status: 400, body: { message: 'too many tokens: 9' }, kind: 'context_length' },
    { status: 401, body: { message: 'invalid api token' }, kind: 'auth' },
    { status: 429, body: { message: 'You are past the per minute request limit' }, kind: 'rate_limit' },
  ],
};

const contents = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };
const generatePath = '/v1beta/models/model-upstream:generateContent';
const geminiCalls = calls(
  [
    ['chat', contents, generatePath],
    ['messages', contents, generatePath],
    ['responses', contents, generatePath],
  ],
  'path',
);
const geminiError = (status: string, message: string): object => ({ error: { code: 400, status, message } });

export const gemini: ContractFixtures = {
  baseUrl: 'https://west.example',
  credential: header,
  authorisation: { 'x-goog-api-key': 'sim-secret' },
  calls: [
    ...geminiCalls,
    asStream(geminiCalls[0]!, '/v1beta/models/model-upstream:streamGenerateContent?alt=sse'),
  ],
  errors: [
    ...errorsWithoutMessage,
    { status: 400, body: geminiError('INVALID_ARGUMENT', 'API key not valid'), kind: 'invalid' },
    {
      status: 400,
      body: { error: { status: 'INVALID_ARGUMENT', message: 'x', details: [{ reason: 'API_KEY_INVALID' }] } },
      kind: 'auth',
    },
    { status: 403, body: geminiError('PERMISSION_DENIED', 'no'), kind: 'auth' },
    { status: 429, body: geminiError('RESOURCE_EXHAUSTED', 'quota'), kind: 'rate_limit' },
    { status: 503, body: [geminiError('UNAVAILABLE', 'overloaded')], kind: 'overloaded' },
  ],
};

const invoke = '/model/model-upstream/invoke';
const bedrockCalls = calls(
  [
    ['messages', generate, invoke],
    ['chat', generate, invoke],
    ['responses', generate, invoke],
  ],
  'path',
);
const exception = (name: string): Record<string, string> => ({
  'x-amzn-errortype': `${name}:http://internal/`,
});

export const bedrock: ContractFixtures = {
  baseUrl: 'https://bedrock-runtime.eu-central-1.amazonaws.example',
  credential: {
    kind: 'sigv4',
    id: 'c',
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'hidden',
    sessionToken: 'st',
  },
  authorisation: {
    authorization:
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20260102\/eu-central-1\/bedrock\/aws4_request, SignedHeaders=accept;content-length;content-type;host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
    'x-amz-security-token': 'st',
    'x-amz-date': '20260102T030405Z',
  },
  calls: [...bedrockCalls, asStream(bedrockCalls[0]!, '/model/model-upstream/invoke-with-response-stream')],
  errors: [
    ...errorsWithoutMessage,
    { status: 400, headers: exception('ValidationException'), body: { message: 'bad' }, kind: 'invalid' },
    {
      status: 400,
      headers: exception('ValidationException'),
      body: { message: 'Input is too long: prompt is too long' },
      kind: 'context_length',
    },
    // Issue: "Input is too long." (Bedrock).
    {
      status: 400,
      headers: exception('ValidationException'),
      body: { message: 'Input is too long.' },
      kind: 'context_length',
    },
    { status: 403, headers: exception('AccessDeniedException'), body: { message: 'no' }, kind: 'auth' },
    {
      status: 404,
      headers: exception('ResourceNotFoundException'),
      body: { message: 'no' },
      kind: 'not_found',
    },
    { status: 429, headers: exception('ThrottlingException'), body: { message: 'slow' }, kind: 'rate_limit' },
    { status: 503, headers: exception('ServiceUnavailableException'), body: {}, kind: 'overloaded' },
  ],
};

export const nativeOauth: ContractFixtures = {
  baseUrl: 'https://native.example/backend',
  settings: { account_header: 'Account-Id' },
  credential: {
    kind: 'oauth-pool',
    id: 'c',
    accessToken: 'sim-access',
    refreshToken: 'hidden',
    account: 'acc-1',
  },
  authorisation: { authorization: 'Bearer sim-access', 'account-id': 'acc-1' },
  calls: [nativeCall('/backend/responses')],
  errors: [
    ...errorsWithoutMessage,
    { status: 400, body: chatError('bad', 'invalid_request_error'), kind: 'invalid' },
    { status: 401, body: chatError('expired', 'invalid_request_error', 'token_expired'), kind: 'auth' },
    { status: 429, body: chatError('limit', 'usage_limit_reached'), kind: 'rate_limit' },
  ],
};
