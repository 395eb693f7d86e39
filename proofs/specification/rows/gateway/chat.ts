import { expect } from '../../../operations/http';
import { openPoint, row, type SpecificationRow } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  sendRequest,
  at,
  chat,
  chatOf,
  field,
  sendAndCapture,
  listAt,
  uniqueWord,
  numberAt,
  ok,
  okJson,
  readUntil,
  recordOf,
  expectRejected,
  same,
  stream,
  textAt,
} from './gateway-calls';

const SECTION = '4.2';
const sendChat = (world: SpecificationWorld, more: object = {}) =>
  sendRequest(world, chat, chatOf('Hello', more));
const chatJson = (world: SpecificationWorld, more: object = {}) => okJson(sendChat(world, more));

/** Accepted and forwarded to the supplier unchanged. */
const passesOn = (name: string, value: unknown) => async (world: SpecificationWorld) => {
  const { body } = await sendAndCapture(world, chat, (text) => chatOf(text, { [name]: value }));
  same(at(body, name), value, name);
};

const refuses =
  (name: string, ...values: unknown[]) =>
  async (world: SpecificationWorld) => {
    for (const value of values)
      await expectRejected(sendChat(world, { [name]: value }), 400, 'invalid_request', name);
  };

const requestRows: readonly SpecificationRow[] = [
  row(SECTION, '`model` is required', async (world) => {
    await expectRejected(sendChat(world, { model: undefined }), 400, 'missing_model', 'model');
  }),
  row(SECTION, '`model` is a string', async (world) => {
    await expectRejected(sendChat(world, { model: 7 }), 400, 'invalid_request', 'model');
  }),
  row(SECTION, '`model` takes every id that `GET /v1/models` names', async (world) => {
    const { client } = await world.caller();
    const list = listAt(await okJson(client.get('/v1/models')), 'data') as { id: string }[];
    const ids = list.map(({ id }) => id).filter((id) => id === 'spec-chat' || id === 'sim-small');
    same(ids.length, 2, 'models of the list');
    for (const id of ids) same(at(await chatJson(world, { model: id }), 'model'), id, 'model');
  }),
  row(SECTION, 'a `model` that is in no list is refused', async (world) => {
    await expectRejected(sendChat(world, { model: 'nowhere' }), 404, 'model_not_found', 'model');
  }),
  row(SECTION, '`messages` is required', async (world) => {
    await expectRejected(sendChat(world, { messages: undefined }), 400, 'invalid_request', 'messages');
  }),
  row(SECTION, '`messages` is a list of objects', async (world) => {
    for (const invalidValue of ['Hello', {}, 7])
      await expectRejected(sendChat(world, { messages: invalidValue }), 400, 'invalid_request', 'messages');
    const answer = await sendChat(world, { messages: ['Hello'] });
    same(answer.status, 400, 'status');
  }),
  row(
    SECTION,
    'messages of the roles `system`, `user` and `assistant` reach the supplier as they are',
    async (world) => {
      const conversation = (text: string) => [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: text },
        { role: 'assistant', content: 'Yes?' },
        { role: 'user', content: 'Go on.' },
      ];
      const { body } = await sendAndCapture(world, chat, (text) =>
        chatOf('', { messages: conversation(text) }),
      );
      const upstreamRequest = listAt(body, 'messages') as { role: string; content: string }[];
      same(upstreamRequest.map(({ role }) => role).join(), 'system,user,assistant,user', 'roles');
      same([upstreamRequest[0]?.content, upstreamRequest[2]?.content], ['Be short.', 'Yes?'], 'contents');
    },
  ),
  row(SECTION, '`metadata.session_id` is taken', async (world) => {
    const answer = await ok(sendChat(world, { metadata: { session_id: 'one' } }));
    same(at(await recordOf((await world.caller()).client, answer), 'session_id'), 'one', 'session');
  }),
  row(SECTION, '`metadata.sticky_key` is taken', async (world) => {
    const answer = await ok(sendChat(world, { metadata: { sticky_key: 'two' } }));
    same(at(await recordOf((await world.caller()).client, answer), 'session_id'), 'two', 'session');
  }),
  row(SECTION, 'without `stream`, and with false, the answer is whole', async (world) => {
    for (const more of [{}, { stream: false }]) {
      const answer = await ok(sendChat(world, more));
      expect(answer.headers.get('content-type')?.startsWith('application/json') ?? false, 'no JSON');
    }
  }),
  row(SECTION, '`stream: true` streams tokens as server-sent events', async (world) => {
    const { client } = await world.caller();
    const { status, headers, data } = await stream(world, client, chat, chatOf('Hello', { stream: true }));
    same([status, headers['content-type']?.split(';')[0]], [200, 'text/event-stream'], 'head');
    const words = data.map((event) => at(event, 'choices.0.delta.content')).filter((text) => text);
    expect(words.length > 2, `${words.length} pieces`);
  }),
  row(
    SECTION,
    '`stream: true` sends tokens as they come: the first ones arrive while the supplier goes on',
    async (world) => {
      const { name, upstream } = await world.newModel();
      // The supplier stops sending after six events, without closing the stream.
      await (await world.suppliers()).fault('first', upstream[0] ?? '', { kind: 'stall', after: 6 });
      const { client } = await world.caller();
      const json = chatOf('[[tokens=60]]', { model: name, stream: true });
      await readUntil(world, client, [chat, json], /"content":"[^"]+".*"content":"[^"]+"/s);
    },
  ),
  row(SECTION, '`stream` is a boolean', refuses('stream', 'yes', 1)),
  row(SECTION, '`temperature` 0 and 2 are taken', async (world) => {
    await passesOn('temperature', 0)(world);
    await passesOn('temperature', 2)(world);
  }),
  row(SECTION, '`temperature` is a number', refuses('temperature', 'warm', true)),
  row(
    SECTION,
    '`temperature` left out means 1.0',
    async (world) => {
      const { body } = await sendAndCapture(world, chat, (text) => chatOf(text));
      expect([undefined, 1].includes(at(body, 'temperature') as number), 'another temperature was sent');
    },
    {
      decided: openPoint(
        'defaults of 1.0 are left to the supplier: a parameter that the request leaves out is not sent',
      ),
    },
  ),
  row(SECTION, '`max_tokens` bounds the tokens that are generated', async (world) => {
    const answer = await chatJson(world, {
      max_tokens: 5,
      messages: [{ role: 'user', content: '[[tokens=40]]' }],
    });
    same(numberAt(answer, 'usage.completion_tokens'), 5, 'tokens');
    same(at(answer, 'choices.0.finish_reason'), 'length', 'finish_reason');
  }),
  row(SECTION, '`max_tokens` is a whole number above 0', refuses('max_tokens', 0, -1, 1.5, 'ten')),
  row(SECTION, '`top_p` 0 and 1 are taken', async (world) => {
    await passesOn('top_p', 0)(world);
    await passesOn('top_p', 1)(world);
  }),
  row(SECTION, '`top_p` is a number', refuses('top_p', 'all', true)),
  row(
    SECTION,
    '`top_p` left out means 1.0',
    async (world) => {
      const { body } = await sendAndCapture(world, chat, (text) => chatOf(text));
      expect([undefined, 1].includes(at(body, 'top_p') as number), 'another top_p was sent');
    },
    {
      decided: openPoint(
        'defaults of 1.0 are left to the supplier: a parameter that the request leaves out is not sent',
      ),
    },
  ),
  row(SECTION, '`region` restricts the call to that region', async (world) => {
    const upstreamRequest = await sendAndCapture(world, chat, (text) => chatOf(text, { region: 'us' }));
    same(upstreamRequest.at, 'second', 'the supplier');
    same(at(upstreamRequest.body, 'region'), undefined, 'region that was sent on');
  }),
  row(SECTION, '`region` is a string', refuses('region', 7, ['eu'])),
  row(
    SECTION,
    '`region` is read without regard to case and surrounding blanks',
    async (world) => {
      for (const region of ['EU', ' eu '])
        same((await ok(sendChat(world, { region }))).headers.get('x-svc-region'), 'eu', 'region');
    },
    {
      decided: openPoint(
        'regions are compared in lower case, and one that no lane has is 400 invalid_request',
      ),
    },
  ),
  row(SECTION, 'a `region` that no lane of the catalogue has is refused', refuses('region', 'mars'), {
    decided: openPoint('regions are compared in lower case, and one that no lane has is 400 invalid_request'),
  }),
];

const answerRows: readonly SpecificationRow[] = [
  row(SECTION, '`id` is a string, another one for each answer', async (world) => {
    const ids = [];
    for (const _time of [1, 2])
      ids.push(textAt(await chatJson(world, { messages: [{ role: 'user', content: uniqueWord() }] }), 'id'));
    expect(ids[0] !== ids[1], `twice ${ids[0]}`);
  }),
  row(SECTION, '`object` is `chat.completion`', async (world) => {
    same(at(await chatJson(world), 'object'), 'chat.completion', 'object');
  }),
  row(SECTION, '`model` names the requested model', async (world) => {
    same(at(await chatJson(world), 'model'), 'spec-chat', 'model');
  }),
  row(SECTION, '`choices[].index` is a whole number from 0 on', async (world) => {
    const answer = await chatJson(world, { n: 2 });
    same(
      listAt(answer, 'choices').map((choice) => at(choice, 'index')),
      [0, 1],
      'indexes',
    );
  }),
  row(SECTION, '`choices[].message.role` is `assistant`', async (world) => {
    same(at(await chatJson(world), 'choices.0.message.role'), 'assistant', 'role');
  }),
  row(SECTION, '`choices[].message.content` is what the supplier said', async (world) => {
    const text = uniqueWord();
    const answer = await chatJson(world, { messages: [{ role: 'user', content: `[[echo=${text}]]` }] });
    same(at(answer, 'choices.0.message.content'), text, 'content');
  }),
  row(SECTION, '`choices[].finish_reason` is a string', async (world) => {
    same(at(await chatJson(world), 'choices.0.finish_reason'), 'stop', 'finish_reason');
  }),
  ...['prompt_tokens', 'completion_tokens', 'total_tokens'].map((name) =>
    row(SECTION, `\`usage.${name}\` is a whole number`, async (world) => {
      expect(Number(field(await chatJson(world), `usage.${name}`, 'integer')) > 0, `no ${name}`);
    }),
  ),
  row(SECTION, '`usage.total_tokens` is the sum', async (world) => {
    const { usage } = await chatJson(world);
    const sum = numberAt(usage, 'prompt_tokens') + numberAt(usage, 'completion_tokens');
    same(numberAt(usage, 'total_tokens'), sum, 'total_tokens');
  }),
];

/** Every field of the document is present, whatever the supplier omitted. */
const FIELDS_SUPPLIERS_OMIT: readonly [field: string, left: string][] = [
  ['id', 'id'],
  ['object', 'object'],
  ['choices.0.index', 'index'],
  ['choices.0.message.role', 'role'],
  ['choices.0.finish_reason', 'finish_reason'],
  ['usage.prompt_tokens', 'usage'],
  ['usage.completion_tokens', 'usage'],
  ['usage.total_tokens', 'usage'],
];

/** A supplier's response without this field. */
function bareAnswer(omittedField: string): object {
  const completeAnswer = {
    id: 'chatcmpl-bare',
    object: 'chat.completion',
    created: 1,
    model: 'sim-bare',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Good day to you' }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
  };
  return JSON.parse(
    JSON.stringify(completeAnswer, (name, value: unknown) => (name === omittedField ? undefined : value)),
  ) as object;
}

const bareRows: readonly SpecificationRow[] = FIELDS_SUPPLIERS_OMIT.map(([path, left]) =>
  row(SECTION, `\`${path.replace('.0', '[]')}\` is there where the supplier leaves it out`, async (world) => {
    const { name, upstream } = await world.newModel();
    await (await world.suppliers()).answer('first', upstream[0] ?? '', bareAnswer(left));
    const answer = await okJson(sendChat(world, { model: name }));
    if (left === 'usage' || left === 'index') field(answer, path, 'integer');
    else field(answer, path, 'string');
  }),
);

export const chatRows: readonly SpecificationRow[] = [
  ...requestRows,
  ...answerRows,
  ...bareRows,
  row(
    SECTION,
    'body, headers and record tell the same tokens where the supplier reports none',
    async (world) => {
      const { name, upstream } = await world.newModel();
      await (await world.suppliers()).answer('first', upstream[0] ?? '', bareAnswer('usage'));
      const answer = await ok(sendChat(world, { model: name }));
      const record = await recordOf((await world.caller()).client, answer);
      const chatBody = JSON.parse(answer.text) as object;
      for (const [inBody, name] of [
        ['prompt_tokens', 'input'],
        ['completion_tokens', 'output'],
      ] as const) {
        const header = Number(answer.headers.get(`x-svc-${name}-tokens`));
        same(
          [numberAt(chatBody, `usage.${inBody}`), numberAt(record, `${name}_tokens`)],
          [header, header],
          `${name} tokens`,
        );
      }
    },
  ),
];
