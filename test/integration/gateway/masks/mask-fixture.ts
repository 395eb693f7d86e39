import { startTestApp, type TestApp } from '../../../support/app';
import { ScriptedSupplier } from '../../../support/scripted-supplier';
import { parseEvents } from '../../../support/sse-spellings';
import { TestCatalogue } from '../test-catalogue';
import { chunk, data, type Json, namedEvents } from '../streams/stream-fixture';

export const TEXT = 'Write to jane.doe@example.com, not to Ümit 😀 or jane.doe@example.org!';
export const MASKED = 'Write to [e-mail], not to Ümit 😀 or [e-mail]!';
export const LEAK = /jane|doe|example/;

export const charactersOf = (text: string): string[] => text.split('');
export const piecesOf = (text: string): string[] => text.match(/.{1,3}/gs) ?? [];

export const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
export const chatStream = (...chunks: readonly Json[]): string =>
  data(chunk({ role: 'assistant', content: '' }), ...chunks, chunk({}, { choices: [], usage }), '[DONE]');
export const block = (index: number, start: Json, ...deltas: readonly Json[]) => [
  { type: 'content_block_start', index, content_block: start },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
export const text = (of: string) =>
  [
    { type: 'text', text: '' },
    ...piecesOf(of).map((piece) => ({ type: 'text_delta', text: piece })),
  ] as const;

export const response = (output: readonly Json[], status = 'completed'): Json => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status,
  model: 'up',
  output,
  usage: { input_tokens: 10, output_tokens: 20, total_tokens: 30 },
});
export const logprobs = (of: string): Json[] =>
  piecesOf(of).map((token) => ({ token, logprob: -0.1, bytes: [1], top_logprobs: [] }));
export const message = (of: string, tokens = logprobs(of)): Json => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [
    {
      type: 'output_text',
      text: of,
      annotations: [{ type: 'url_citation', title: of, url: 'https://x.org' }],
      logprobs: tokens,
    },
  ],
});
export const call = (args: string): Json => ({
  id: 'fc_1',
  type: 'function_call',
  call_id: 'call_1',
  name: 'act',
  arguments: args,
  status: 'completed',
});

/** Every text in pieces and repeated, as the dialect requires. */
export function responsesStream(of: string, args: string, reasoning = of): string {
  let sequence_number = 0;
  const event = (type: string, fields: Json): Json & { type: string } => ({
    type,
    sequence_number: sequence_number++,
    ...fields,
  });
  const at = { item_id: 'msg_1', output_index: 1, content_index: 0 };
  const item = message(of);
  const reasoningItem = {
    id: 'rs_1',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: reasoning }],
    encrypted_content: 'gAAAA',
  };
  const summary = { item_id: 'rs_1', output_index: 0, summary_index: 0 };
  return namedEvents(
    event('response.created', { response: response([], 'in_progress') }),
    event('response.output_item.added', { output_index: 0, item: { ...reasoningItem, summary: [] } }),
    ...piecesOf(reasoning).map((delta) =>
      event('response.reasoning_summary_text.delta', { ...summary, delta }),
    ),
    event('response.reasoning_summary_text.done', { ...summary, text: reasoning }),
    event('response.output_item.done', { output_index: 0, item: reasoningItem }),
    event('response.output_item.added', { output_index: 1, item: { ...item, content: [] } }),
    ...piecesOf(of).map((delta) =>
      event('response.output_text.delta', {
        ...at,
        delta,
        logprobs: [{ token: delta, logprob: -1 }],
        obfuscation: 'abc',
      }),
    ),
    event('response.output_text.done', { ...at, text: of, logprobs: logprobs(of) }),
    event('response.content_part.done', { ...at, part: (item.content as Json[])[0] }),
    event('response.output_item.done', { output_index: 1, item }),
    event('response.output_item.added', { output_index: 2, item: call('') }),
    ...piecesOf(args).map((delta) =>
      event('response.function_call_arguments.delta', { item_id: 'fc_1', output_index: 2, delta }),
    ),
    event('response.function_call_arguments.done', {
      item_id: 'fc_1',
      output_index: 2,
      name: 'act',
      arguments: args,
    }),
    event('response.output_item.done', { output_index: 2, item: call(args) }),
    event('response.completed', { response: response([reasoningItem, item, call(args)]) }),
  );
}

const paths = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  completions: '/v1/completions',
  native: '/v1/native/responses',
} as const;
export type MaskedSurface = keyof typeof paths;

export let app: TestApp;
export let supplier: ScriptedSupplier;
export let otherSupplier: ScriptedSupplier;

/** Starts the service with masking gates and scripted suppliers. */
export async function openFixture(): Promise<void> {
  supplier = await ScriptedSupplier.start();
  otherSupplier = await ScriptedSupplier.start();
  app = await startTestApp({
    environment: { SUPPLIER_ALLOW: '127.0.0.1', EXTENSIONS: './test/fixtures/extensions/masking.cjs' },
  });
  const catalogue = new TestCatalogue(app);
  const bearer = { label: 'key', secret: 'their-key', kind: 'bearer' } as const;
  const styles = {
    chat: { style: 'openai-style', credentials: [bearer] },
    messages: { style: 'messages-style', credentials: [{ ...bearer, kind: 'header' }] },
    responses: { style: 'openai-style', settings: { profile: 'openai' }, credentials: [bearer] },
  } as const;
  for (const [name, fields] of Object.entries(styles)) {
    await catalogue.provider({ name, baseUrl: supplier.url, ...fields });
    await catalogue.provider({ name: `other-${name}`, baseUrl: otherSupplier.url, ...fields });
    await catalogue.model(`on-${name}`, [{ provider: name }]);
    await catalogue.model(`again-${name}`, [
      { provider: name, priority: 0 },
      { provider: `other-${name}`, priority: 1 },
    ]);
  }
  await catalogue.provider({
    name: 'agents',
    style: 'native-oauth',
    baseUrl: supplier.url,
    settings: { oauth: { token_url: supplier.url, client_id: 'agent' } },
    credentials: [
      {
        label: 'one',
        kind: 'oauth-pool',
        secret: { accessToken: 'a', refreshToken: 'r', expiresAt: Date.now() + 3_600_000 },
      },
    ],
  });
  await catalogue.model('on-native', [{ provider: 'agents' }]);
}

export async function closeFixture(): Promise<void> {
  await app.close();
  await supplier.stop();
  await otherSupplier.stop();
}

export const sendRequest = async (
  surface: MaskedSurface,
  model: string,
  tags: readonly string[],
  extra: Json = {},
  headers: Record<string, string> = {},
) => {
  const question = [{ role: 'user', content: 'Who?' }];
  const requestFields: Record<MaskedSurface, Json> = {
    chat: { messages: question },
    messages: { messages: question, max_tokens: 500 },
    responses: { input: question },
    native: { input: question, stream: true },
    completions: { prompt: 'Who?' },
  };
  const answer = await fetch(app.url + paths[surface], {
    method: 'POST',
    headers: {
      authorization: `Bearer ${app.firstKeys?.demo}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ model, metadata: { tags }, ...requestFields[surface], ...extra }),
  });
  const raw = await answer.text();
  return { status: answer.status, headers: answer.headers, raw, json: () => JSON.parse(raw) as Json };
};

export const sendStreamRequest = async (
  surface: MaskedSurface,
  model: string,
  body: string,
  tags: readonly string[] = ['mail'],
  extra: Json = {},
) => {
  supplier.answer = { headers: { 'content-type': 'text/event-stream' }, body };
  const answer = await sendRequest(surface, model, tags, { stream: true, ...extra });
  const list = parseEvents(answer.raw).flatMap(({ data: of }) =>
    of === '[DONE]' ? [] : [JSON.parse(of) as Json],
  );
  return { ...answer, list };
};
export const recordOf = async (answer: { headers: Headers }): Promise<Json> => {
  const [row = {}] = await app.database.query<Json>('SELECT * FROM request_record WHERE request_id = $1', [
    answer.headers.get('x-request-id'),
  ]);
  return row;
};

export const verdictsOf = async (answer: { headers: Headers }): Promise<string[]> => {
  const { gates } = await recordOf(answer);
  return ((gates ?? []) as Json[]).map(({ name, stage, verdict }) => [name, stage, verdict].join(' '));
};

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

export type MaskedStreamChoice = {
  readonly index: number;
  readonly delta?: Json;
  readonly text?: string;
  readonly logprobs?: Json | null;
};
export const choicesIn = (list: readonly Json[], index = 0): MaskedStreamChoice[] =>
  list.flatMap(({ choices }) => (choices as MaskedStreamChoice[]).filter((choice) => choice.index === index));
export const joinDeltas = (list: readonly Json[], read: (delta: Json) => unknown, index = 0): string =>
  choicesIn(list, index)
    .map(({ delta }) => textIn(delta === undefined ? '' : read(delta)))
    .join('');
