import { OtlpReceiver, type ReceivedSpan } from '../../support/otlp-receiver';
import type { ReceivedRequest, ScriptedResponse } from '../../support/scripted-supplier';
import { type GateFixture, openGateFixture } from '../extensions/gate-fixture';

export interface TelemetryFixture extends GateFixture {
  readonly receiver: OtlpReceiver;
  /** Sends a request and returns its spans once they have been delivered. */
  traced(
    path: string,
    body: object,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ readonly answer: Response; readonly text: string; readonly spans: readonly ReceivedSpan[] }>;
}

/** The service with gates, two suppliers at one address, and a receiver with immediate export. */
export async function openTelemetryFixture(
  environment: Readonly<Record<string, string>> = {},
): Promise<TelemetryFixture> {
  const receiver = await OtlpReceiver.open();
  const fixture = await openGateFixture({
    EXTENSIONS: './test/fixtures/extensions/gates.cjs',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    OTEL_METRIC_EXPORT_INTERVAL: '100',
    ...environment,
  });
  await fixture.catalogue.model('pair', [
    { provider: 'openai', upstreamModel: 'first-model', priority: 0 },
    { provider: 'messages', upstreamModel: 'second-model', priority: 1 },
  ]);
  return {
    ...fixture,
    receiver,
    traced: async (path, body, headers) => {
      const answer = await fixture.post(path, body, headers);
      const text = await answer.text();
      const spans = await receiver.spansOfRequest(answer.headers.get('x-request-id') ?? '');
      return { answer, text, spans };
    },
    close: async () => {
      await fixture.close();
      await receiver.close();
    },
  };
}

export const REPLY_TEXT = 'a very particular answer';

const eventsOf = (list: readonly (readonly [name: string, data: object])[]): string =>
  list.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('');

/** An Anthropic stream, including tokens read from and written to its cache. */
const messagesStream = eventsOf([
  [
    'message_start',
    {
      type: 'message_start',
      message: {
        id: 'msg_traced',
        type: 'message',
        role: 'assistant',
        model: 'second-model-0625',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 10,
          cache_read_input_tokens: 20,
          cache_creation_input_tokens: 30,
          output_tokens: 1,
        },
      },
    },
  ],
  [
    'content_block_start',
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ],
  [
    'content_block_delta',
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: REPLY_TEXT } },
  ],
  ['content_block_stop', { type: 'content_block_stop', index: 0 }],
  [
    'message_delta',
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 7 },
    },
  ],
  ['message_stop', { type: 'message_stop' }],
]);

export const chatAnswer = {
  id: 'chatcmpl-traced',
  object: 'chat.completion',
  created: 1,
  model: 'first-model-0613',
  choices: [{ index: 0, message: { role: 'assistant', content: REPLY_TEXT }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 40,
    completion_tokens: 12,
    total_tokens: 52,
    prompt_tokens_details: { cached_tokens: 8 },
    completion_tokens_details: { reasoning_tokens: 5 },
  },
};

/** The first supplier is overloaded; the second one streams. */
export const failoverAnswer = ({ path }: ReceivedRequest): ScriptedResponse =>
  path.includes('/messages')
    ? { headers: { 'content-type': 'text/event-stream' }, body: messagesStream }
    : { status: 503, body: { error: { message: 'overloaded', type: 'server_error' } } };

export const spanNamed = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const matches = spans.filter((span) => span.name === name);
  if (matches.length !== 1)
    throw new Error(
      `${matches.length} spans are called ${name}; there are ${spans.map((s) => s.name).join(', ')}`,
    );
  return matches[0]!;
};
