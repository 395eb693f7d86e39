import { type ReadResponse, expect, jsonOf } from '../../../operations/http';
import { readRecording } from '../../../../test/support/forged-recordings';
import { openPoint, row, type SpecificationRow, unseen } from '../../row';
import type { SpecificationWorld } from '../../world';
import type { SupplierSlot } from '../../catalogue';
import {
  sendRequest,
  at,
  chat,
  chatOf,
  embeddings,
  embeddingsOf,
  everyInterface,
  field,
  headerOf,
  uniqueWord,
  messages,
  messagesOf,
  native,
  nativeOf,
  numberAt,
  ok,
  recordingOf,
  recordOf,
  rerank,
  rerankOf,
  same,
  speech,
  speechOf,
  type CompletedStream,
  stream,
  textAt,
  transcriptions,
} from './gateway-calls';

/** Every non-streaming inference call. */
const nonStreamingCalls: readonly [
  what: string,
  ask: (world: SpecificationWorld) => Promise<ReadResponse>,
][] = [
  ['chat', (world) => sendRequest(world, chat, chatOf())],
  ['messages', (world) => sendRequest(world, messages, messagesOf())],
  ['embeddings', (world) => sendRequest(world, embeddings, embeddingsOf())],
  ['rerank', (world) => sendRequest(world, rerank, rerankOf())],
  ['speech', (world) => sendRequest(world, speech, speechOf('Hello', { voice: 'nova' }))],
  [
    'transcription',
    async (world) => {
      const form = recordingOf({ model: 'spec-whisper' }, readRecording('pcm.wav'), 'speech.wav');
      return (await world.caller()).client.post(transcriptions, form);
    },
  ],
];

const numbers = /^\d+(\.\d+)?$/;

const nonStreamingRows: readonly SpecificationRow[] = nonStreamingCalls.flatMap(([what, send]) => [
  row(
    '4.9',
    `\`x-svc-supplier\` and \`x-svc-region\` name the lane that answered (${what})`,
    async (world) => {
      const answer = await ok(send(world));
      const lane = what === 'messages' ? ['messages', 'eu'] : ['first', 'eu'];
      same([headerOf(answer, 'x-svc-supplier'), headerOf(answer, 'x-svc-region')], lane, 'lane');
    },
  ),
  row('4.9', `\`x-svc-failover\` is false where the first supplier answered (${what})`, async (world) => {
    same(headerOf(await ok(send(world)), 'x-svc-failover'), 'false', 'failover');
  }),
  row(
    '4.9',
    `\`x-svc-input-tokens\` and \`x-svc-output-tokens\` are whole numbers, as on record (${what})`,
    async (world) => {
      const answer = await ok(send(world));
      const record = await recordOf((await world.caller()).client, answer);
      for (const name of ['input', 'output']) {
        const header = headerOf(answer, `x-svc-${name}-tokens`);
        same(Number(header), field(record, `${name}_tokens`, 'integer'), `${name} tokens`);
      }
    },
  ),
  row('4.9', `\`x-svc-cost-usd\` is the cost in US dollars, as on record (${what})`, async (world) => {
    const answer = await ok(send(world));
    const cost = headerOf(answer, 'x-svc-cost-usd');
    const record = await recordOf((await world.caller()).client, answer);
    same([numbers.test(cost), Number(cost)], [true, numberAt(record, 'cost_usd')], 'cost');
    expect(Number(cost) > 0, 'free');
  }),
]);

/** Supplier delay that must be visible in the latency. */
const DELAY_MS = 250;

const latencyRows: readonly SpecificationRow[] = Object.entries(everyInterface)
  .filter(([what]) => what !== 'streamed chat')
  .map(([what, one]) =>
    row(
      '4.9',
      `\`x-svc-latency-ms\` is the latency in milliseconds: no less than the supplier took, no more than the caller waited (${what})`,
      async (world) => {
        const { name, upstream } = await world.newModel({ kind: one.kind });
        const { client } = await world.caller();
        await (await world.suppliers()).fault('first', upstream[0] ?? '', { kind: 'delay', ms: DELAY_MS });
        const before = performance.now();
        const answer = await ok(one.ask(client, name));
        const elapsedMs = performance.now() - before;
        const latency = headerOf(answer, 'x-svc-latency-ms');
        // Supplier timers can fire a fraction of a millisecond early.
        expect(
          numbers.test(latency) && Number(latency) >= DELAY_MS - 2 && Number(latency) <= elapsedMs + 1,
          `latency ${latency}, the caller waited ${elapsedMs}`,
        );
        same(numberAt(await recordOf(client, answer), 'latency_ms'), Number(latency), 'latency on record');
      },
    ),
  );

const tokenRows: readonly SpecificationRow[] = [
  row('4.9', 'token headers say what the body says, and the cost follows from the price', async (world) => {
    const answer = await ok(sendRequest(world, chat, chatOf()));
    const { usage } = jsonOf(answer);
    const [input, output] = [numberAt(usage, 'prompt_tokens'), numberAt(usage, 'completion_tokens')];
    same(
      [headerOf(answer, 'x-svc-input-tokens'), headerOf(answer, 'x-svc-output-tokens')],
      [`${input}`, `${output}`],
      'tokens',
    );
    same(
      Number(headerOf(answer, 'x-svc-cost-usd')).toFixed(9),
      ((input + 2 * output) / 1e6).toFixed(9),
      'cost',
    );
  }),
  row(
    '4.9',
    '`x-svc-failover` is true when the first supplier is rate-limited and the second answers',
    async (world) => {
      const { name, upstream } = await world.newModel({ lanes: [{ at: 'first' }, { at: 'second' }] });
      await (await world.suppliers()).fault('first', upstream[0] ?? '', { kind: 'status', status: 429 });
      const answer = await ok(sendRequest(world, chat, chatOf('Hello', { model: name })));
      const headerValues = ['failover', 'supplier', 'region'].map((one) => headerOf(answer, `x-svc-${one}`));
      same(headerValues, ['true', 'second', 'us'], 'failover, supplier and region');
    },
  ),
];

/** Every streaming dialect, how it ends, and the position of its last usage. */
interface StreamDialect {
  readonly at: SupplierSlot;
  readonly path: string;
  readonly json: object;
  readonly end: string;
}
const dialects: Readonly<Record<string, StreamDialect>> = {
  chat: {
    at: 'first',
    path: chat,
    json: chatOf('Hello', { stream: true, stream_options: { include_usage: true } }),
    end: '[DONE]',
  },
  messages: {
    at: 'messages',
    path: messages,
    json: messagesOf('Hello', { stream: true }),
    end: 'message_stop',
  },
  native: { at: 'native', path: native, json: nativeOf(), end: 'response.completed' },
};

const openStream = async (
  world: SpecificationWorld,
  { path, json }: StreamDialect,
  more: object = {},
): Promise<CompletedStream> => {
  const { client } = await world.caller();
  return stream(world, client, path, { ...json, ...more });
};
const ends = (events: CompletedStream['events'], end: string): boolean =>
  events.at(-1)?.data === end || events.at(-1)?.type === end;

const streamRows: readonly SpecificationRow[] = Object.entries(dialects).flatMap(([what, dialect]) => [
  row('4.9', `a stream names supplier, region and failover at its head (${what})`, async (world) => {
    const { headers } = await openStream(world, dialect);
    const lane = [dialect.at, dialect.at === 'native' ? 'us' : 'eu'];
    same(
      [headers['x-svc-supplier'], headers['x-svc-region'], headers['x-svc-failover']],
      [...lane, 'false'],
      'head',
    );
  }),
  row(
    '4.9',
    `a stream has latency, tokens and cost as trailers (${what})`,
    async (world) => {
      const { trailers } = await openStream(world, dialect);
      for (const name of ['latency-ms', 'input-tokens', 'output-tokens', 'cost-usd'])
        expect(numbers.test(trailers[`x-svc-${name}`] ?? ''), `x-svc-${name}: ${trailers[`x-svc-${name}`]}`);
    },
    { decided: openPoint('headers that are known only at the end of a stream are trailers') },
  ),
  row('6.3', `a stream is server-sent events, and ends as its style says (${what})`, async (world) => {
    const { status, headers, events } = await openStream(world, dialect);
    same([status, headers['content-type']?.split(';')[0]], [200, 'text/event-stream'], 'head');
    expect(ends(events, dialect.end), `ends with ${events.at(-1)?.text}`);
  }),
  ...(['error-event', 'cut'] as const).map((kind) =>
    row(
      '6.3',
      `a stream that began with 200 and fails (${kind}) has an error event, and no end (${what})`,
      async (world) => {
        const { name, upstream } = await world.newModel({
          lanes: [{ at: dialect.at }],
          fields: { capabilities: ['native'], max_output_tokens: 4_000 },
        });
        await (await world.suppliers()).fault(dialect.at, upstream[0] ?? '', { kind, after: 12 });
        const { status, events, data } = await openStream(world, dialect, { model: name });
        same(status, 200, 'status');
        const error = at(data.at(-1), 'error') ?? at(data.at(-1), 'response.error');
        const code = kind === 'cut' ? 'stream_interrupted' : 'stream_error';
        same(textAt(error, 'code'), code, 'code');
        same(textAt(error, 'message').startsWith(`${code} - `), true, 'message');
        expect(
          !events.some((event) => event.data === dialect.end || event.type === dialect.end),
          'it ends as if it were whole',
        );
      },
      { decided: openPoint('a stream that fails ends with one error event and without its terminator') },
    ),
  ),
]);

const chunkRows: readonly SpecificationRow[] = [
  row(
    '6.7',
    'chunks of chat: `chat.completion.chunk`, the role first, one reason to finish, then `[DONE]`',
    async (world) => {
      const { data, events } = await openStream(world, {
        ...dialects['chat']!,
        json: chatOf('Hello', { stream: true }),
      });
      expect(
        data.length > 3 && data.every((chunk) => at(chunk, 'object') === 'chat.completion.chunk'),
        'objects',
      );
      same(at(data[0], 'choices.0.delta.role'), 'assistant', 'role');
      const reasons = data
        .map((chunk) => at(chunk, 'choices.0.finish_reason'))
        .filter((reason) => typeof reason === 'string');
      same(reasons, ['stop'], 'reasons');
      same(new Set(data.map((chunk) => textAt(chunk, 'id'))).size, 1, 'ids');
      same(new Set(data.map((chunk) => textAt(chunk, 'model'))).size, 1, 'models');
      same(events.at(-1)?.data, '[DONE]', 'end');
    },
    { decided: openPoint('chunks of chat are those of the chat-completions style') },
  ),
  row(
    '6.7',
    'with `stream_options.include_usage` a last chunk without choices has the whole usage',
    async (world) => {
      const { data } = await openStream(world, dialects['chat']!);
      const last = data.at(-1);
      same(at(last, 'choices'), [], 'choices');
      const sum = numberAt(last, 'usage.prompt_tokens') + numberAt(last, 'usage.completion_tokens');
      same(numberAt(last, 'usage.total_tokens'), sum, 'usage');
    },
    { decided: openPoint('chunks of chat are those of the chat-completions style') },
  ),
  row(
    '6.6',
    'the messages stream tells input tokens at its begin and cumulative usage at its end',
    async (world) => {
      const { data, trailers } = await openStream(world, dialects['messages']!);
      expect(numberAt(data[0], 'message.usage.input_tokens') > 0, 'no input tokens');
      const delta = data.find((event) => at(event, 'type') === 'message_delta');
      same(textAt(delta, 'delta.stop_reason'), 'end_turn', 'stop_reason');
      same(`${numberAt(delta, 'usage.output_tokens')}`, trailers['x-svc-output-tokens'], 'output tokens');
    },
    { decided: openPoint('events of the messages stream are those of its style, with usage at both ends') },
  ),
  ...Object.entries(dialects)
    .filter(([what]) => what !== 'native')
    .map(([what, dialect]) =>
      row(
        '4.9',
        `a stream that another supplier finished names that one in its trailers (${what})`,
        (world) => expectContinuation(world, dialect.at, dialect),
        {
          decided: {
            adr: '0011-one-answer-from-two-lanes.md',
            says: 'the head names the supplier that began, the trailers the one that finished',
          },
        },
      ),
    ),
  unseen(
    '6.4',
    'no outgoing webhook is sent',
    'that nothing is sent to anybody is not seen at one address; docs/security.md lists what leaves',
  ),
];

/** The headers name the lane that broke off, the trailers the one that finished. */
async function expectContinuation(
  world: SpecificationWorld,
  supplierSlot: SupplierSlot,
  dialect: StreamDialect,
): Promise<void> {
  const { name, upstream } = await world.newModel({ lanes: [{ at: supplierSlot }, { at: 'second' }] });
  await (await world.suppliers()).fault(supplierSlot, upstream[0] ?? '', { kind: 'cut', after: 6 });
  const { headers, trailers, events } = await openStream(world, dialect, { model: name });
  expect(ends(events, dialect.end), 'it was not finished');
  same(headers['x-svc-supplier'], supplierSlot, 'head');
  same([trailers['x-svc-supplier'], trailers['x-svc-region']], ['second', 'us'], 'trailers');
}

const versionRows: readonly SpecificationRow[] = [
  row('9.1', 'every path of the gateway begins with `/v1`; without it nothing answers', async (world) => {
    const { client } = await world.caller();
    for (const path of [chat, messages, embeddings, native]) {
      const answer = await client.post(path.replace('/v1', ''), { json: chatOf() });
      same(answer.status, 404, `status of ${path.replace('/v1', '')}`);
      expect(answer.text.includes('"not_found"'), `another code: ${answer.text.slice(0, 200)}`);
    }
    await ok(sendRequest(world, chat, chatOf()));
  }),
  row('9.1', 'the native base is `/v1/native`', async (world) => {
    same((await openStream(world, dialects['native']!)).status, 200, 'status');
  }),
  row(
    '9.2',
    'the messages style takes the version header of its SDK clients, with any date, and passes it on',
    async (world) => {
      const { client } = await world.caller();
      for (const date of ['2023-01-01', '2023-06-01', undefined]) {
        const text = uniqueWord();
        const headers: Record<string, string> = date === undefined ? {} : { 'anthropic-version': date };
        await ok(client.post(messages, { json: messagesOf(text), headers }));
        const [heard] = await (await world.suppliers()).requestsWith(text);
        same(heard?.headers['anthropic-version'], date ?? '2023-06-01', 'the version that the supplier got');
      }
    },
  ),
];

export const answerRows: readonly SpecificationRow[] = [
  ...nonStreamingRows,
  ...latencyRows,
  ...tokenRows,
  ...streamRows,
  ...chunkRows,
  ...versionRows,
];
