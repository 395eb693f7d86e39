import { expect, jsonOf } from '../../../operations/http';
import { openPoint, row, type Row, unseen } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  ask,
  at,
  field,
  heardOf,
  listAt,
  messages,
  messagesOf,
  okJson,
  refused,
  same,
  streamed,
} from './asking';

const S = '4.3';
const asked = (world: SpecificationWorld, more: object = {}) =>
  ask(world, messages, messagesOf('Hello', more));

async function asIs(world: SpecificationWorld, headers: Readonly<Record<string, string>>) {
  await world.suppliers();
  return world.anonymous.post(messages, { json: messagesOf(), headers });
}

const version = { 'anthropic-version': '2023-06-01' };

const headRows: readonly Row[] = [
  row(S, 'the key is taken as `x-api-key`', async (world) => {
    const { text } = await world.caller();
    same((await asIs(world, { 'x-api-key': text })).status, 200, 'status');
  }),
  row(S, 'the key is taken as a Bearer token', async (world) => {
    const { text } = await world.caller();
    same((await asIs(world, { authorization: `Bearer ${text}` })).status, 200, 'status');
  }),
  row(
    S,
    'the version header of SDK clients is taken, and goes on to a supplier of the style',
    async (world) => {
      const { client } = await world.caller();
      const text = `version ${Math.random()}`;
      const answer = await client.post(messages, { json: messagesOf(text), headers: version });
      same(answer.status, 200, 'status');
      const [heard] = await (await world.suppliers()).heardWith(text);
      same(heard?.headers['anthropic-version'], '2023-06-01', 'version');
    },
  ),
  row(S, 'the content type is `application/json`: text and forms are refused', async (world) => {
    const { client } = await world.caller();
    const body = JSON.stringify(messagesOf());
    for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
      await refused(
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

/** These are promised of every model: those of its own style and those that are translated. */
const everyModel = ['spec-messages', 'spec-chat'] as const;
const styles = { 'spec-messages': 'passed through', 'spec-chat': 'converted' } as const;

function rowsOf(model: (typeof everyModel)[number]): Row[] {
  const how = styles[model];
  const answered = (world: SpecificationWorld, more: object = {}) => okJson(asked(world, { model, ...more }));
  return [
    row(S, `a whole answer has the shape of the style (${how})`, async (world) => {
      const answer = await answered(world);
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
    row(S, `\`max_tokens\` bounds the answer (${how})`, async (world) => {
      const answer = await answered(world, {
        max_tokens: 5,
        messages: [{ role: 'user', content: '[[tokens=40]]' }],
      });
      same([at(answer, 'usage.output_tokens'), at(answer, 'stop_reason')], [5, 'max_tokens'], 'end');
    }),
    row(S, `a system prompt reaches the supplier (${how})`, async (world) => {
      const heard = await heardOf(world, messages, (text) =>
        messagesOf(text, { model, system: 'Speak like a duck.' }),
      );
      const said = model === 'spec-chat' ? at(heard.body, 'messages.0') : at(heard.body, 'system');
      expect(JSON.stringify(said ?? '').includes('Speak like a duck.'), `heard ${JSON.stringify(said)}`);
      if (model === 'spec-chat') same(at(said, 'role'), 'system', 'role');
    }),
    row(S, `tools are called in tool-use blocks (${how})`, async (world) => {
      const content = '[[tool=look({"far":true})]]';
      const answer = await answered(world, { tools: [tool], messages: [{ role: 'user', content }] });
      same(at(answer, 'stop_reason'), 'tool_use', 'stop_reason');
      const use = listAt(answer, 'content').find((block) => at(block, 'type') === 'tool_use');
      same([at(use, 'name'), at(use, 'input')], ['look', { far: true }], 'the call');
      field(use, 'id', 'string');
    }),
    row(S, `tool-result blocks reach the supplier (${how})`, async (world) => {
      const turns = (text: string) => [
        { role: 'user', content: '[[tool=look]]' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: text }] },
      ];
      const heard = await heardOf(world, messages, (text) =>
        messagesOf('', { model, tools: [tool], messages: turns(text) }),
      );
      const last = listAt(heard.body, 'messages').at(-1);
      if (model === 'spec-chat')
        same([at(last, 'role'), at(last, 'tool_call_id')], ['tool', 'toolu_1'], 'the result');
      else same(at(last, 'content.0.type'), 'tool_result', 'the result');
    }),
    row(S, `images reach the supplier (${how})`, async (world) => {
      const content = (text: string) => [picture, { type: 'text', text }];
      const heard = await heardOf(world, messages, (text) =>
        messagesOf('', { model, messages: [{ role: 'user', content: content(text) }] }),
      );
      expect(heard.rawBody?.includes(pixel) ?? false, 'no picture arrived');
    }),
    row(S, `a stream has the events of the style, in their order (${how})`, async (world) => {
      const { client } = await world.caller();
      const { headers, events, data } = await streamed(
        world,
        client,
        messages,
        messagesOf('Hello', { model, stream: true }),
      );
      same(headers['content-type']?.split(';')[0], 'text/event-stream', 'content type');
      const types = events.map(({ type }) => type).filter((type) => type !== 'ping');
      const once = types.filter((type, place) => type !== types[place - 1]);
      const all =
        'message_start,content_block_start,content_block_delta,content_block_stop,message_delta,message_stop';
      same(once.join(), all, 'events');
      same(
        data.every((event, place) => at(event, 'type') === events[place]?.type),
        true,
        'names equal types',
      );
    }),
  ];
}

const bodyRows: readonly Row[] = [
  row(S, '`model` is a string, and required', async (world) => {
    await refused(asked(world, { model: undefined }), 400, 'missing_model', 'model');
    await refused(asked(world, { model: 7 }), 400, 'invalid_request', 'model');
  }),
  row(S, '`model` may be `auto`', async (world) => {
    const answer = await okJson(asked(world, { model: 'auto' }));
    same([at(answer, 'type'), at(answer, 'content.0.type')], ['message', 'text'], 'the answer');
    expect(String(field(answer, 'model', 'string')) !== 'auto', 'no model is named');
  }),
  row(S, '`max_tokens` is a whole number above 0', async (world) => {
    for (const wrong of [0, -1, 1.5, 'ten'])
      await refused(asked(world, { max_tokens: wrong }), 400, 'invalid_request', 'max_tokens');
  }),
  row(S, '`messages` is required, and a list', async (world) => {
    await refused(asked(world, { messages: undefined }), 400, 'invalid_request', 'messages');
    await refused(asked(world, { messages: 'Hello' }), 400, 'invalid_request', 'messages');
  }),
  row(S, 'a model behind a supplier of the style gets the body as it came', async (world) => {
    const heard = await heardOf(world, messages, (text) =>
      messagesOf(text, { top_k: 3, stop_sequences: ['END'] }),
    );
    same(heard.path, '/v1/messages', 'path');
    same([at(heard.body, 'top_k'), at(heard.body, 'stop_sequences')], [3, ['END']], 'fields');
  }),
  row(S, 'a model behind a supplier of the chat style is asked in that style', async (world) => {
    const heard = await heardOf(world, messages, (text) =>
      messagesOf(text, { model: 'spec-chat', stop_sequences: ['END'] }),
    );
    same(heard.path, '/v1/chat/completions', 'path');
    same([at(heard.body, 'stop')].flat(), ['END'], 'stop');
  }),
  row(
    '4.2',
    'a model behind a supplier of the messages style is reached by chat callers too',
    async (world) => {
      const answer = await okJson(ask(world, '/v1/chat/completions', messagesOf()));
      same(
        [at(answer, 'object'), at(answer, 'choices.0.message.role')],
        ['chat.completion', 'assistant'],
        'answer',
      );
    },
  ),
  unseen(
    S,
    'the full list of fields',
    'the document does not show it; docs/fidelity.md says what each dialect carries over',
  ),
];

const countRows: readonly Row[] = [
  row(
    '4.1',
    '`POST /v1/messages/count_tokens` answers the count of tokens',
    async (world) => {
      const few = jsonOf(await ask(world, `${messages}/count_tokens`, messagesOf('Hello')));
      const many = jsonOf(await ask(world, `${messages}/count_tokens`, messagesOf('Hello '.repeat(100))));
      const [one, other] = [few, many].map((count) => Number(field(count, 'input_tokens', 'integer')));
      expect((one ?? 0) > 0 && (other ?? 0) > 50, `${one} and ${other}`);
    },
    { decided: openPoint('count_tokens takes a messages body and answers input_tokens') },
  ),
  row(
    '4.1',
    'counting tokens takes the body of `/v1/messages`; `max_tokens` and `stream` may be left out',
    async (world) => {
      const { max_tokens: _bound, ...bare } = messagesOf('Hello');
      await okJson(ask(world, `${messages}/count_tokens`, bare));
      await okJson(ask(world, `${messages}/count_tokens`, messagesOf('Hello', { stream: true })));
      await refused(
        ask(world, `${messages}/count_tokens`, { model: 'spec-messages' }),
        400,
        'invalid_request',
        'messages',
      );
    },
    { decided: openPoint('count_tokens takes a messages body and answers input_tokens') },
  ),
];

export const messagesRows: readonly Row[] = [
  ...headRows,
  ...bodyRows,
  ...everyModel.flatMap(rowsOf),
  ...countRows,
];
