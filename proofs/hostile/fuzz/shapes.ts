/** Valid requests from which the fuzzed ones are derived. */
export interface RequestShape {
  readonly method: string;
  readonly path: string;
  readonly key: 'demo' | 'root' | 'none';
  readonly body?: Readonly<Record<string, unknown>>;
  /** Sent as a form with a file. */
  readonly form?: boolean;
}

const weather = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city'],
};
const image =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const chat = {
  model: 'small',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hello [[tokens=5]]' }] },
  ],
  max_tokens: 50,
  temperature: 0.5,
  stop: ['END'],
  user: 'somebody',
  metadata: { purpose: 'proof' },
};
const chatTools = {
  model: 'large',
  stream: true,
  stream_options: { include_usage: true },
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Rain?' },
        { type: 'image_url', image_url: { url: image } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'dry' },
  ],
  tools: [{ type: 'function', function: { name: 'weather', description: 'Weather.', parameters: weather } }],
  tool_choice: 'auto',
  max_completion_tokens: 60,
};
const messages = {
  model: 'large',
  max_tokens: 50,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello [[tokens=5]]' }] }],
  tools: [{ name: 'weather', description: 'Weather.', input_schema: weather }],
  metadata: { user_id: 'somebody' },
};
const messagesStream = {
  model: 'small',
  max_tokens: 50,
  stream: true,
  messages: [
    { role: 'user', content: 'Rain?' },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bern' } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'dry' }] },
  ],
  tools: [{ name: 'weather', input_schema: weather }],
};
const responses = {
  model: 'small',
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello [[tokens=5]]' }] }],
  instructions: 'Be brief.',
  max_output_tokens: 50,
  tools: [{ type: 'function', name: 'weather', parameters: weather, strict: false }],
};
const newKey = {
  name: 'made by the proof',
  allowed_models: ['small'],
  allowed_regions: ['local'],
  budget_limit: 1,
  budget_period: 'daily',
  rate_limit_rpm: 10,
  metadata: { team: 'proof' },
};

const post = (path: string, body: RequestShape['body'], key: RequestShape['key'] = 'demo'): RequestShape => ({
  method: 'POST',
  path,
  key,
  ...(body === undefined ? {} : { body }),
});
const get = (path: string, key: RequestShape['key']): RequestShape => ({ method: 'GET', path, key });

/** Every route below /v1. `{key_id}` and `{request_id}` are replaced by existing ids. */
export const shapes: readonly RequestShape[] = [
  post('/v1/chat/completions', chat),
  post('/v1/chat/completions', chatTools),
  post('/v1/messages', messages),
  post('/v1/messages', messagesStream),
  post('/v1/messages/count_tokens', messages),
  post('/v1/responses', responses),
  post('/v1/responses', { ...responses, model: 'large', stream: true }),
  post('/v1/native/responses', { ...responses, stream: true }),
  post('/v1/completions', { model: 'small', prompt: 'Once', max_tokens: 20 }),
  post('/v1/embeddings', {
    model: 'vectors',
    input: ['one', 'two'],
    encoding_format: 'float',
    dimensions: 8,
  }),
  post('/v1/rerank', { model: 'ranks', query: 'q', documents: ['a', 'b'], top_n: 1 }),
  post('/v2/rerank', { model: 'ranks', query: 'q', documents: ['a', 'b'], top_n: 1 }),
  post('/v1/moderations', { model: 'guard', input: 'fine' }),
  post('/v1/images/generations', { model: 'painter', prompt: 'a house', n: 1, size: '256x256' }),
  post('/v1/audio/speech', { model: 'voice', input: 'Hello', voice: 'alloy', response_format: 'mp3' }),
  { ...post('/v1/audio/transcriptions', { model: 'ears', language: 'en', temperature: '0' }), form: true },
  { ...post('/v1/audio/translations', { model: 'ears', prompt: 'x' }), form: true },
  get('/v1/models?limit=10&after_id=small', 'demo'),
  get('/v1/models/small', 'demo'),
  get('/v1/key', 'demo'),
  get('/v1/generations/{request_id}', 'demo'),
  get('/v1/errors', 'none'),
  get('/v1/errors/not_found', 'none'),
  post('/v1/manage/keys', newKey, 'root'),
  get('/v1/manage/keys?limit=5&status=active&name=x', 'root'),
  get('/v1/manage/keys/{key_id}', 'root'),
  {
    method: 'PATCH',
    path: '/v1/manage/keys/{key_id}',
    key: 'root',
    body: { budget_limit: 2, name: 'again' },
  },
  post('/v1/manage/keys/{key_id}/rotate', { grace_seconds: 60 }, 'root'),
  get('/v1/manage/keys/{key_id}/audit?from=2026-01-01T00:00:00Z&limit=5&format=json', 'root'),
  { method: 'DELETE', path: '/v1/manage/keys/00000000-0000-7000-8000-000000000000', key: 'root' },
];

/** Path of a route without its query, with placeholders. */
export const pathOf = ({ path }: RequestShape): string => path.split('?')[0] as string;
