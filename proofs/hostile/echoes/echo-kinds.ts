/** Supplier credential with characters that JSON, URLs and base64 encode differently. */
export const SECRET = 'sk-canary/of+ours"qx7zmark';

export interface Echo {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** Sent after the caller has received the first part. */
  readonly rest?: string;
  readonly trailers?: Readonly<Record<string, string>>;
}

export interface EchoKind {
  readonly name: string;
  readonly route: EchoRoute;
  readonly answers: readonly Echo[];
}

export type EchoRoute =
  | 'chat'
  | 'translated'
  | 'stream'
  | 'translated stream'
  | 'messages stream'
  | 'responses stream'
  | 'native'
  | 'count'
  | 'speech'
  | 'embeddings';

const escaped = JSON.stringify(SECRET).slice(1, -1).replaceAll('/', '\\/');
const unicode = [...SECRET]
  .map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
  .join('');
const inJson = JSON.stringify({ key: SECRET });
const base64 = Buffer.from(`Bearer ${SECRET}`).toString('base64');

/** Spellings in which an echo may contain the secret. */
export const spellings: readonly string[] = [
  SECRET,
  escaped,
  unicode,
  inJson,
  JSON.stringify(inJson),
  encodeURIComponent(SECRET),
  base64,
  Buffer.from(SECRET).toString('hex'),
];

const json = (value: unknown): string => JSON.stringify(value);
const sse = (...events: (object | string)[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : json(event)}\n\n`).join('');
const contentType = (type: string): Readonly<Record<string, string>> => ({ 'content-type': type });
const events = contentType('text/event-stream');
const word = { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'Hi' } }] };
const stop = { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const completeBody = json({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
});
const partialEvents = [
  { type: 'message_start', message: { id: 'm', model: 'x', usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
];
const response = [
  { type: 'response.created', response: { id: 'r', model: 'x' } },
  { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'i' } },
  { type: 'response.output_text.delta', output_index: 0, delta: 'Hi' },
];
const failedEvent = {
  type: 'response.failed',
  response: { status: 'failed', error: { code: 'x', message: SECRET } },
};
const errorWithSecret = { message: `wrong key ${SECRET}`, type: SECRET, code: SECRET, param: SECRET };
const errorTexts = [
  json({ error: errorWithSecret }),
  `{"error":{"message":"wrong key ${unicode}","type":"invalid_request_error"}}`,
  `{"error":{"message":"${escaped} and ${encodeURIComponent(SECRET)}","details":{"${escaped}":[1]}}}`,
  json({ error: { message: `upstream said ${inJson} and ${json(inJson)}` } }),
  json({ error: { message: base64 } }),
];
const echoedRequest = {
  'x-request-id': 'ours-qx7zmark',
  'x-echo': base64,
  'openai-organization': 'canary-qx7zmark',
};
const messagesError = (type: string): object => ({ type: 'error', error: { type, message: SECRET } });

/** Every kind of response in which a supplier, or a proxy in front of it, may echo a request. */
export const kinds: readonly EchoKind[] = [
  {
    name: 'an error in JSON',
    route: 'chat',
    answers: [400, 401, 404, 422, 429, 500].flatMap((status) => errorTexts.map((body) => ({ status, body }))),
  },
  {
    name: 'plain text',
    route: 'chat',
    answers: [
      { status: 400, headers: contentType('text/plain'), body: `authorization: Bearer ${SECRET}` },
      { status: 500, headers: contentType('text/plain'), body: `${'x'.repeat(1_985)}${SECRET}` },
    ],
  },
  {
    name: 'a page',
    route: 'chat',
    answers: [400, 502, 200].map((status) => ({
      status,
      headers: contentType('text/html'),
      body: `<p>${SECRET}</p>`,
    })),
  },
  { name: 'an error with a 200', route: 'chat', answers: errorTexts.map((body) => ({ body })) },
  {
    name: 'an error in a stream of chat',
    route: 'stream',
    answers: [
      ...errorTexts.map((body) => ({ headers: events, body: `data: ${body}\n\n` })),
      ...errorTexts.map((body) => ({ headers: events, body: sse(word), rest: `data: ${body}\n\n` })),
    ],
  },
  {
    name: 'an error in a stream of messages',
    route: 'messages stream',
    answers: [
      { headers: events, body: sse(messagesError('api_error')) },
      { headers: events, body: sse(messagesError('invalid_request_error')) },
      { headers: events, body: sse(...partialEvents), rest: sse(messagesError('overloaded_error')) },
    ],
  },
  {
    name: 'an error in a stream of responses',
    route: 'responses stream',
    answers: [
      { headers: events, body: sse({ type: 'error', message: SECRET, code: SECRET }) },
      { headers: events, body: sse(...response), rest: sse(failedEvent) },
    ],
  },
  {
    name: 'an error in a native stream',
    route: 'native',
    answers: [
      { headers: events, body: sse({ type: 'error', message: SECRET }) },
      { headers: events, body: sse(...response), rest: sse(failedEvent) },
    ],
  },
  {
    name: 'a stream that is none',
    route: 'stream',
    answers: [
      { headers: events, body: sse(`wrong key ${SECRET}`) },
      { headers: events, body: `wrong key ${SECRET}\n\n` },
      { headers: events, body: sse(word), rest: sse(`{"wrong key": ${SECRET}`) },
    ],
  },
  {
    name: 'headers and trailers',
    route: 'chat',
    answers: [
      { headers: echoedRequest, body: completeBody, trailers: { 'x-checksum': 'canary-qx7zmark' } },
      { status: 400, headers: echoedRequest, body: '{}' },
      { status: 429, headers: { ...echoedRequest, 'retry-after': 'canary' }, body: '{}' },
    ],
  },
  {
    name: 'headers and trailers of a stream',
    route: 'stream',
    answers: [
      {
        headers: { ...events, ...echoedRequest },
        body: sse(word, stop, '[DONE]'),
        trailers: { 'x-checksum': 'canary-qx7zmark' },
      },
    ],
  },
  {
    name: 'an error in place of sound',
    route: 'speech',
    answers: [
      { headers: contentType('audio/mpeg'), body: json({ error: { message: SECRET } }) },
      { status: 400, headers: contentType('audio/mpeg'), body: SECRET },
      { headers: contentType(`audio/mpeg; key=${SECRET}`), body: 'sound' },
    ],
  },
  {
    name: 'an error that is translated',
    route: 'translated',
    answers: [
      { status: 400, body: json(messagesError('invalid_request_error')) },
      { body: json(messagesError('api_error')) },
      { body: json(messagesError('invalid_request_error')) },
    ],
  },
  {
    name: 'an error in a stream that is translated',
    route: 'translated stream',
    answers: [
      { headers: events, body: sse(messagesError('invalid_request_error')) },
      { headers: events, body: sse(...partialEvents), rest: sse(messagesError('api_error')) },
    ],
  },
  {
    name: 'an error while counting',
    route: 'count',
    answers: [{ status: 400, body: json(messagesError('invalid_request_error')) }],
  },
  {
    name: 'an error for numbers',
    route: 'embeddings',
    answers: errorTexts.flatMap((body) => [{ status: 400, body }, { body }]),
  },
];
