import { expect, jsonOf } from '../../../operations/http';
import { openPoint, row, type SpecificationRow, unseen } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  sendRequest,
  at,
  field,
  sendAndCapture,
  listAt,
  messages,
  messagesOf,
  okJson,
  expectRejected,
  same,
  stream,
} from './gateway-calls';

const SECTION = '4.3';
const sendMessages = (world: SpecificationWorld, more: object = {}) =>
  sendRequest(world, messages, messagesOf('Hello', more));

async function asIs(world: SpecificationWorld, headers: Readonly<Record<string, string>>) {
  await world.suppliers();
  return world.anonymous.post(messages, { json: messagesOf(), headers });
}

const version = { 'anthropic-version': '2023-06-01' };

const headRows: readonly SpecificationRow[] = [
  row(SECTION, 'the key is taken as `x-api-key`', async (world) => {
    const { text } = await world.caller();
    same((await asIs(world, { 'x-api-key': text })).status, 200, 'status');
  }),
  row(SECTION, 'the key is taken as a Bearer token', async (world) => {
    const { text } = await world.caller();
    same((await asIs(world, { authorization: `Bearer ${text}` })).status, 200, 'status');
  }),
  row(
    SECTION,
    'the version header of SDK clients is taken, and goes on to a supplier of the style',
    async (world) => {
      const { client } = await world.caller();
      const text = `version ${Math.random()}`;
      const answer = await client.post(messages, { json: messagesOf(text), headers: version });
      same(answer.status, 200, 'status');
      const [heard] = await (await world.suppliers()).requestsWith(text);
      same(heard?.headers['anthropic-version'], '2023-06-01', 'version');
    },
  ),
  row(SECTION, 'the content type is `application/json`: text and forms are refused', async (world) => {
    const { client } = await world.caller();
    const body = JSON.stringify(messagesOf());
    for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
      await expectRejected(
        client.post(messages, { body, headers: { 'content-type': type } }),
        415,
        'unsupported_media_type',
      );
    same((await client.post(messages, { json: messagesOf() })).status, 200, 'status');
  }),
];

const tool = { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } };
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } };

/** Promised for every model, whether the request is passed through or converted. */
const everyModel = ['spec-messages', 'spec-chat'] as const;
const styles = { 'spec-messages': 'passed through', 'spec-chat': 'converted' } as const;

function rowsOf(model: (typeof everyModel)[number]): SpecificationRow[] {
  const conversion = styles[model];
  const messagesJson = (world: SpecificationWorld, more: object = {}) =>
    okJson(sendMessages(world, { model, ...more }));
  return [
    row(SECTION, `a whole answer has the shape of the style (${conversion})`, async (world) => {
      const answer = await messagesJson(world);
      same(
        [at(answer, 'type'), at(answer, 'role'), at(answer, 'model')],
        ['message', 'assistant', model],
        'answer',
      );
      field(answer, 'id', 'string');
      same(at(answer, 'content.0.type'), 'text', 'block');
      field(answer, 'content.0.text', 'string');
      same(at(answer, 'stop_reason'), 'end_turn', 'stop_reason');
      field(answer, 'usage.input_tokens', 'integer');
      field(answer, 'usage.output_tokens', 'integer');
    }),
    row(SECTION, `\`max_tokens\` bounds the answer (${conversion})`, async (world) => {
      const answer = await messagesJson(world, {
        max_tokens: 5,
        messages: [{ role: 'user', content: '[[tokens=40]]' }],
      });
      same([at(answer, 'usage.output_tokens'), at(answer, 'stop_reason')], [5, 'max_tokens'], 'end');
    }),
    row(SECTION, `a system prompt reaches the supplier (${conversion})`, async (world) => {
      const upstreamRequest = await sendAndCapture(world, messages, (text) =>
        messagesOf(text, { model, system: 'Speak like a duck.' }),
      );
      const systemPrompt =
        model === 'spec-chat' ? at(upstreamRequest.body, 'messages.0') : at(upstreamRequest.body, 'system');
      expect(
        JSON.stringify(systemPrompt ?? '').includes('Speak like a duck.'),
        `heard ${JSON.stringify(systemPrompt)}`,
      );
      if (model === 'spec-chat') same(at(systemPrompt, 'role'), 'system', 'role');
    }),
    row(SECTION, `tools are called in tool-use blocks (${conversion})`, async (world) => {
      const content = '[[tool=look({"far":true})]]';
      const answer = await messagesJson(world, { tools: [tool], messages: [{ role: 'user', content }] });
      same(at(answer, 'stop_reason'), 'tool_use', 'stop_reason');
      const use = listAt(answer, 'content').find((block) => at(block, 'type') === 'tool_use');
      same([at(use, 'name'), at(use, 'input')], ['look', { far: true }], 'the call');
      field(use, 'id', 'string');
    }),
    row(SECTION, `tool-result blocks reach the supplier (${conversion})`, async (world) => {
      const turns = (text: string) => [
        { role: 'user', content: '[[tool=look]]' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: text }] },
      ];
      const upstreamRequest = await sendAndCapture(world, messages, (text) =>
        messagesOf('', { model, tools: [tool], messages: turns(text) }),
      );
      const last = listAt(upstreamRequest.body, 'messages').at(-1);
      if (model === 'spec-chat')
        same([at(last, 'role'), at(last, 'tool_call_id')], ['tool', 'toolu_1'], 'the result');
      else same(at(last, 'content.0.type'), 'tool_result', 'the result');
    }),
    row(SECTION, `images reach the supplier (${conversion})`, async (world) => {
      const content = (text: string) => [picture, { type: 'text', text }];
      const upstreamRequest = await sendAndCapture(world, messages, (text) =>
        messagesOf('', { model, messages: [{ role: 'user', content: content(text) }] }),
      );
      expect(upstreamRequest.rawBody?.includes(pixel) ?? false, 'no picture arrived');
    }),
    row(SECTION, `a stream has the events of the style, in their order (${conversion})`, async (world) => {
      const { client } = await world.caller();
      const { headers, events, data } = await stream(
        world,
        client,
        messages,
        messagesOf('Hello', { model, stream: true }),
      );
      same(headers['content-type']?.split(';')[0], 'text/event-stream', 'content type');
      const types = events.map(({ type }) => type).filter((type) => type !== 'ping');
      const distinctTypes = types.filter((type, index) => type !== types[index - 1]);
      const all =
        'message_start,content_block_start,content_block_delta,content_block_stop,message_delta,message_stop';
      same(distinctTypes.join(), all, 'events');
      same(
        data.every((event, index) => at(event, 'type') === events[index]?.type),
        true,
        'names equal types',
      );
    }),
  ];
}

const bodyRows: readonly SpecificationRow[] = [
  row(SECTION, '`model` is a string, and required', async (world) => {
    await expectRejected(sendMessages(world, { model: undefined }), 400, 'missing_model', 'model');
    await expectRejected(sendMessages(world, { model: 7 }), 400, 'invalid_request', 'model');
  }),
  row(SECTION, '`model` may be `auto`', async (world) => {
    const answer = await okJson(sendMessages(world, { model: 'auto' }));
    same([at(answer, 'type'), at(answer, 'content.0.type')], ['message', 'text'], 'the answer');
    expect(String(field(answer, 'model', 'string')) !== 'auto', 'no model is named');
  }),
  row(SECTION, '`max_tokens` is a whole number above 0', async (world) => {
    for (const invalidValue of [0, -1, 1.5, 'ten'])
      await expectRejected(
        sendMessages(world, { max_tokens: invalidValue }),
        400,
        'invalid_request',
        'max_tokens',
      );
  }),
  row(SECTION, '`messages` is required, and a list', async (world) => {
    await expectRejected(sendMessages(world, { messages: undefined }), 400, 'invalid_request', 'messages');
    await expectRejected(sendMessages(world, { messages: 'Hello' }), 400, 'invalid_request', 'messages');
  }),
  row(SECTION, 'a model behind a supplier of the style gets the body as it came', async (world) => {
    const upstreamRequest = await sendAndCapture(world, messages, (text) =>
      messagesOf(text, { top_k: 3, stop_sequences: ['END'] }),
    );
    same(upstreamRequest.path, '/v1/messages', 'path');
    same(
      [at(upstreamRequest.body, 'top_k'), at(upstreamRequest.body, 'stop_sequences')],
      [3, ['END']],
      'fields',
    );
  }),
  row(SECTION, 'a model of a supplier with the chat API format receives chat requests', async (world) => {
    const upstreamRequest = await sendAndCapture(world, messages, (text) =>
      messagesOf(text, { model: 'spec-chat', stop_sequences: ['END'] }),
    );
    same(upstreamRequest.path, '/v1/chat/completions', 'path');
    same([at(upstreamRequest.body, 'stop')].flat(), ['END'], 'stop');
  }),
  row(
    '4.2',
    'a model behind a supplier of the messages style is reached by chat callers too',
    async (world) => {
      const answer = await okJson(sendRequest(world, '/v1/chat/completions', messagesOf()));
      same(
        [at(answer, 'object'), at(answer, 'choices.0.message.role')],
        ['chat.completion', 'assistant'],
        'answer',
      );
    },
  ),
  unseen(
    SECTION,
    'the full list of fields',
    'the document does not show it; docs/fidelity.md says what each dialect carries over',
  ),
];

const countRows: readonly SpecificationRow[] = [
  row(
    '4.1',
    '`POST /v1/messages/count_tokens` answers the count of tokens',
    async (world) => {
      const shortCount = jsonOf(await sendRequest(world, `${messages}/count_tokens`, messagesOf('Hello')));
      const longCount = jsonOf(
        await sendRequest(world, `${messages}/count_tokens`, messagesOf('Hello '.repeat(100))),
      );
      const [one, other] = [shortCount, longCount].map((count) =>
        Number(field(count, 'input_tokens', 'integer')),
      );
      expect((one ?? 0) > 0 && (other ?? 0) > 50, `${one} and ${other}`);
    },
    { decided: openPoint('count_tokens takes a messages body and answers input_tokens') },
  ),
  row(
    '4.1',
    'counting tokens takes the body of `/v1/messages`; `max_tokens` and `stream` may be left out',
    async (world) => {
      const { max_tokens: _bound, ...bare } = messagesOf('Hello');
      await okJson(sendRequest(world, `${messages}/count_tokens`, bare));
      await okJson(sendRequest(world, `${messages}/count_tokens`, messagesOf('Hello', { stream: true })));
      await expectRejected(
        sendRequest(world, `${messages}/count_tokens`, { model: 'spec-messages' }),
        400,
        'invalid_request',
        'messages',
      );
    },
    { decided: openPoint('count_tokens takes a messages body and answers input_tokens') },
  ),
];

export const messagesRows: readonly SpecificationRow[] = [
  ...headRows,
  ...bodyRows,
  ...everyModel.flatMap(rowsOf),
  ...countRows,
];
