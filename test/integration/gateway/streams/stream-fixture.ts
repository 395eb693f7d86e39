import type { ServerResponse } from 'node:http';
import { startTestApp, type TestApp } from '../../../support/app';
import { parseEvents, type WrittenEvent } from '../../../support/sse-spellings';
import { type FakeServer, startFakeServer } from '../../suppliers/supplier-fixture';
import { TestCatalogue } from '../test-catalogue';

export type Json = Record<string, unknown>;
export type StreamScript = (response: ServerResponse) => void;

export const chunk = (delta: Json, more: Json = {}): Json => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'their-model-0613',
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
});
export const stop = chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
export const usageOf = (output: number): Json => ({ prompt_tokens: 11, completion_tokens: output });
export const bareUsage = (output: number): Json => chunk({}, { choices: [], usage: usageOf(output) });

/** JSON as Python's json.dumps formats it. */
export const pythonJson = (value: unknown): string =>
  JSON.stringify(value, null, 1)
    .replace(/\n */g, ' ')
    .replace(/([[{]) /g, '$1')
    .replace(/ ([\]}])/g, '$1');
export const data = (...values: unknown[]): string =>
  values.map((value) => `data: ${value === '[DONE]' ? value : JSON.stringify(value)}\n\n`).join('');
export const namedEvents = (...values: (Json & { readonly type: string })[]): string =>
  values.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`).join('');
export const sendAndEnd =
  (text: string): StreamScript =>
  (response) =>
    void response.end(text);
export const sendAndBreak =
  (text: string): StreamScript =>
  (response) =>
    response.write(text, () => response.socket?.destroy());

export const messageStart = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'their-model-0613',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 11, output_tokens: 1 },
  },
};
export const messageEnd = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];
export const textBlock = (text: string) => [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  { type: 'content_block_stop', index: 0 },
];
export const response = {
  id: 'resp_theirs',
  object: 'response',
  created_at: 7,
  model: 'their-model-0613',
  output: [],
};
export const item = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Bern.', annotations: [] }],
};
export const responseStartEvents = [
  { type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress' } },
  { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...item, content: [] } },
  { type: 'response.output_text.delta', sequence_number: 2, output_index: 0, delta: 'Bern.' },
  { type: 'response.output_item.done', sequence_number: 3, output_index: 0, item },
];

interface StreamRequestOptions {
  readonly dialect?: string;
  readonly spare?: boolean;
  /** Replaces fields of the default body. */
  readonly body?: Json;
}

const bodies: Readonly<Record<string, readonly [string, Json]>> = {
  chat: [
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: 'x' }], stream_options: { include_usage: true } },
  ],
  messages: ['/v1/messages', { max_tokens: 100, messages: [{ role: 'user', content: 'x' }] }],
  responses: ['/v1/responses', { input: 'x' }],
  completions: ['/v1/completions', { prompt: 'x', stream_options: { include_usage: true } }],
};

export const valueOf = ({ data: text }: WrittenEvent): Json => JSON.parse(text) as Json;
export const valuesOf = (events: readonly WrittenEvent[]): Json[] =>
  events.filter(({ data: text }) => text !== '[DONE]').map(valueOf);
export const requestIdOf = ({ headers }: Response): string => headers.get('x-request-id') ?? '';

/** Recorded tokens, which `svc` has to report too. */
export const chargedTokens = (record: Json | undefined, svc: unknown): { input: number; output: number } => {
  const sum = (...names: string[]): number =>
    names.reduce((total, name) => total + Number(record?.[name]), 0);
  const input = sum('input_tokens', 'cache_read_tokens', 'cache_write_tokens');
  const output = sum('output_tokens', 'reasoning_tokens');
  expect(svc).toMatchObject({ input_tokens: input, output_tokens: output });
  return { input, output };
};

/** Reads the complete body, calling `goOn` once the first part has arrived. */
export async function textAfter({ body }: Response, goOn: () => void): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body!) {
    if (pieces.push(piece) === 1) goOn();
  }
  return Buffer.concat(pieces).toString();
}

/** Runs the service with suppliers that send exactly the scripted bytes, and a spare supplier. */
export class StreamFixture {
  private modelCount = 0;
  private script: StreamScript = () => undefined;
  private readonly backup = sendAndEnd(data(chunk({ content: 'backup' }), stop, bareUsage(2), '[DONE]'));
  private app!: TestApp;
  private supplier!: FakeServer;

  async open(): Promise<void> {
    this.supplier = await startFakeServer((answer, body) => {
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      answer.flushHeaders();
      const isBackup = (JSON.parse(body) as Json).model === 'their-backup';
      (isBackup ? this.backup : this.script)(answer);
    });
    this.app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(this.app);
    const baseUrl = this.supplier.url;
    for (const name of ['chat', 'spare', 'responses', 'messages']) {
      const isMessages = name === 'messages';
      await catalogue.provider({
        name,
        style: isMessages ? 'messages-style' : 'openai-style',
        baseUrl,
        settings: name === 'responses' ? { profile: 'openai' } : {},
        credentials: [{ label: 'key', kind: isMessages ? 'header' : 'bearer', secret: 'their-key' }],
      });
    }
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.supplier.stop();
  }

  /** Creates a model per call, so that no circuit breaker of another test is open. */
  async sendRequest(
    provider: string,
    how: StreamScript,
    { dialect = provider, spare = false, body: more }: StreamRequestOptions = {},
  ) {
    this.script = how;
    this.modelCount += 1;
    const model = `ours-${this.modelCount}`;
    const lanes = [{ provider, upstreamModel: `their-${this.modelCount}`, priority: 0 }];
    if (spare) lanes.push({ provider: 'spare', upstreamModel: 'their-backup', priority: 1 });
    await new TestCatalogue(this.app).model(model, lanes);
    const [path, body] = bodies[dialect]!;
    const answer = await fetch(this.app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream: true, ...body, ...more }),
    });
    return { model, answer };
  }

  async sendAndRead(provider: string, how: StreamScript, options: StreamRequestOptions = {}) {
    const { model, answer } = await this.sendRequest(provider, how, options);
    const text = await answer.text();
    return { model, answer, text, events: parseEvents(text), record: await this.recordOf(answer) };
  }

  async get(path: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.app.firstKeys?.demo}` };
    const answer = await fetch(this.app.url + path, { headers });
    return answer.json();
  }

  async recordOf({ headers }: Response): Promise<Json | undefined> {
    const rows = await this.app.database.query<Json>('SELECT * FROM request_record WHERE request_id = $1', [
      headers.get('x-request-id'),
    ]);
    return rows[0];
  }
}
