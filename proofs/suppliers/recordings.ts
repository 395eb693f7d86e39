import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type SingleShotWire = 'embeddings' | 'moderation' | 'image' | 'rerank' | 'transcription' | 'verbose';
export type SupplierWire =
  'chat' | 'messages' | 'responses' | 'gemini' | 'bedrock' | SingleShotWire | 'choices';

export interface RecordedEvent {
  readonly event: string | null;
  /** Data of the event; a string is raw text. */
  readonly data: unknown;
}

/** A recorded response of a supplier: a stream or a single body. */
export interface SupplierRecording {
  readonly name: string;
  readonly wire: SupplierWire;
  readonly events: readonly RecordedEvent[] | null;
  readonly body: unknown;
}

type Json = Record<string, unknown>;

const fixtures = join(process.cwd(), 'test/fixtures');
/** Recordings without a complete response. */
const INCOMPLETE = new Set(['cut', 'error']);
const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };

export function allRecordings(): SupplierRecording[] {
  const streams = (['chat', 'messages', 'responses'] as const).flatMap(streamsOf);
  const framed = streams
    .filter(({ wire }) => wire === 'messages')
    .map((recording) => ({ ...recording, wire: 'bedrock' as const }));
  return [...streams, ...framed, geminiStream(), ...bodies(), ...reports(), ...choices(), ...shots()];
}

function streamsOf(wire: 'chat' | 'messages' | 'responses'): SupplierRecording[] {
  const folder = join(fixtures, 'protocol', wire);
  return readdirSync(folder)
    .map((file) => file.replace('.sse', ''))
    .filter((name) => !INCOMPLETE.has(name))
    .map((name) =>
      stream(`${wire}/${name}`, wire, eventsIn(readFileSync(join(folder, `${name}.sse`), 'utf8'))),
    );
}

const geminiStream = (): SupplierRecording =>
  stream(
    'gemini/stream',
    'gemini',
    eventsIn(readFileSync(join(fixtures, 'suppliers', 'gemini-stream.sse'), 'utf8')),
  );

const stream = (name: string, wire: SupplierWire, events: readonly RecordedEvent[]): SupplierRecording => ({
  name,
  wire,
  events,
  body: null,
});

const completeRecording = (name: string, wire: SupplierWire, body: unknown): SupplierRecording => ({
  name,
  wire,
  events: null,
  body,
});

function eventsIn(text: string): RecordedEvent[] {
  return text
    .split(/\r?\n\r?\n/)
    .map((block) => block.split(/\r?\n/))
    .flatMap((lines) => {
      const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim());
      const event =
        lines
          .find((line) => line.startsWith('event:'))
          ?.slice(6)
          .trim() ?? null;
      const joined = data.join('\n');
      if (joined === '') return [];
      return [{ event, data: joined.startsWith('{') ? (JSON.parse(joined) as unknown) : joined }];
    });
}

const chatBody = (message: object, reason: string, more: object = {}): Json => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'upstream/m',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: reason }],
  usage,
  ...more,
});
const call = {
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: '{"city": "Köln/\\"x\\""}' },
};
const messagesBody = (content: readonly object[], reason: string): Json => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'upstream/m',
  content,
  stop_reason: reason,
  stop_sequence: null,
  usage: { input_tokens: 12, output_tokens: 3, cache_read_input_tokens: 4 },
});
const responsesBody = (output: readonly object[]): Json => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'upstream/m',
  output,
  usage: { input_tokens: 12, output_tokens: 3, total_tokens: 15 },
});
const text = 'Grüße "aus" Köln / \\ \n "usage":{ message_stop [DONE] 😀';

function bodies(): SupplierRecording[] {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const messages = [
    completeRecording('messages/whole text', 'messages', messagesBody([{ type: 'text', text }], 'end_turn')),
    completeRecording('messages/whole empty', 'messages', messagesBody([], 'end_turn')),
    completeRecording(
      'messages/whole tool',
      'messages',
      messagesBody(
        [
          { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
          { type: 'tool_use', id: 'toolu_1', name: 'message_stop', input: { city: 'Köln' } },
        ],
        'tool_use',
      ),
    ),
  ];
  return [
    completeRecording('chat/whole text', 'chat', chatBody({ content: text }, 'stop')),
    completeRecording('chat/whole tool', 'chat', chatBody({ tool_calls: [call] }, 'tool_calls')),
    completeRecording('chat/whole refusal', 'chat', chatBody({ refusal: 'No.' }, 'stop')),
    completeRecording(
      'chat/whole reasoning',
      'chat',
      chatBody({ content: '', reasoning_content: text }, 'length'),
    ),
    completeRecording('chat/whole image', 'chat', chatBody({ content: 'look', images: [image] }, 'stop')),
    ...messages,
    ...messages.map((one) => ({ ...one, wire: 'bedrock' as const })),
    completeRecording(
      'responses/whole text',
      'responses',
      responsesBody([
        {
          id: 'm',
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ]),
    ),
    completeRecording(
      'responses/whole tool',
      'responses',
      responsesBody([
        { id: 'f', type: 'function_call', call_id: 'c', name: 'response.completed', arguments: '{"a":1}' },
      ]),
    ),
    completeRecording('gemini/whole', 'gemini', {
      candidates: [
        {
          content: {
            role: 'model',
            parts: [{ text }, { functionCall: { name: 'weather', args: { city: 'K' } } }],
          },
          finishReason: 'STOP',
        },
      ],
      usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 3, totalTokenCount: 15 },
      modelVersion: 'upstream/m',
      responseId: 'r',
    }),
  ];
}

interface RecordedUsageReport {
  readonly name: string;
  readonly body: Json;
  readonly reading: { readonly kind: string };
}

/** Every recorded usage report, in a complete response and at the end of a stream. */
function reports(): SupplierRecording[] {
  const readReports = (file: string): RecordedUsageReport[] =>
    (JSON.parse(readFileSync(join(fixtures, 'usage', file), 'utf8')) as RecordedUsageReport[]).filter(
      ({ reading, body }) => reading.kind === 'ok' && body !== null && typeof body === 'object',
    );
  const chat = readReports('chat.json').flatMap(({ name, body: { choices: _choices, ...body } }) => [
    completeRecording(`chat/usage: ${name}`, 'chat', {
      ...chatBody({ content: text }, 'stop', { usage: undefined }),
      ...body,
    }),
    stream(`chat/usage in a stream: ${name}`, 'chat', [
      { event: null, data: { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'Hi' } }] } },
      { event: null, data: { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] } },
      { event: null, data: { id: 'c', model: 'm', ...body, choices: [] } },
      { event: null, data: '[DONE]' },
    ]),
  ]);
  const gemini = readReports('gemini.json').map(({ name, body }) =>
    completeRecording(`gemini/usage: ${name}`, 'gemini', {
      ...body,
      candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }],
    }),
  );
  const responses = readReports('responses.json').flatMap(({ name, body }) =>
    body.usage === undefined
      ? []
      : [
          completeRecording(`responses/usage: ${name}`, 'responses', {
            ...responsesBody([]),
            ...body,
            output: [],
            status: 'completed',
          }),
        ],
  );
  return [...chat, ...gemini, ...responses];
}

/** Two choices for one request, non-streaming and streaming with interleaved chunks. */
function choices(): SupplierRecording[] {
  const message = (index: number, content: string): Json => ({
    index,
    message: { role: 'assistant', content },
    finish_reason: 'stop',
  });
  const chunkOf = (index: number, delta: object, reason: string | null = null): RecordedEvent => ({
    event: null,
    data: { id: 'c', model: 'upstream/m', choices: [{ index, delta, finish_reason: reason }] },
  });
  return [
    completeRecording('chat/two choices', 'choices', {
      ...chatBody({}, 'stop'),
      choices: [message(0, text), message(1, 'B')],
    }),
    stream('chat/two choices in a stream', 'choices', [
      chunkOf(1, { role: 'assistant', content: 'B' }),
      chunkOf(0, { role: 'assistant', content: text }),
      chunkOf(1, { content: 'ern' }, 'length'),
      chunkOf(0, {}, 'stop'),
      { event: null, data: { id: 'c', choices: [], usage } },
      { event: null, data: '[DONE]' },
    ]),
  ];
}

const shots = (): SupplierRecording[] => [
  completeRecording('rerank/whole', 'rerank', {
    id: 'rerank-1',
    results: [
      { index: 1, relevance_score: 0.98 },
      { index: 0, relevance_score: 1e-7 },
    ],
    meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } },
  }),
  completeRecording('transcription/json', 'transcription', {
    text,
    usage: { type: 'tokens', input_tokens: 12, output_tokens: 3, total_tokens: 15 },
  }),
  completeRecording('transcription/verbose_json', 'verbose', {
    task: 'transcribe',
    language: 'german',
    duration: 2.5,
    text,
    segments: [{ id: 0, seek: 0, start: 0, end: 2.5, text, tokens: [1, 2], avg_logprob: -0.25 }],
    words: [{ word: 'Grüße', start: 0, end: 0.5 }],
    usage: { type: 'tokens', input_tokens: 12, output_tokens: 3, total_tokens: 15 },
  }),
  completeRecording('embeddings/whole', 'embeddings', {
    object: 'list',
    model: 'upstream/m',
    data: [{ object: 'embedding', index: 0, embedding: [0.25, -1e-9] }],
    usage: { prompt_tokens: 12, total_tokens: 12 },
  }),
  completeRecording('moderation/whole', 'moderation', {
    id: 'modr-1',
    model: 'upstream/m',
    results: [{ flagged: true, categories: { 'self-harm/intent': true }, category_scores: { hate: 0.5 } }],
  }),
  completeRecording('image/whole', 'image', {
    created: 1,
    data: [{ b64_json: 'AAAA', revised_prompt: text }],
    usage: { input_tokens: 12, output_tokens: 3, total_tokens: 15 },
  }),
];
