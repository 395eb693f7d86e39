import { expect } from '../../../operations/http';
import { openPoint, row, type Row } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  ask,
  at,
  chat,
  chatOf,
  field,
  heardOf,
  listAt,
  mark,
  numberAt,
  ok,
  okJson,
  readUntil,
  recordOf,
  refused,
  same,
  streamed,
  textAt,
} from './asking';

const S = '4.2';
const asked = (world: SpecificationWorld, more: object = {}) => ask(world, chat, chatOf('Hello', more));
const answered = (world: SpecificationWorld, more: object = {}) => okJson(asked(world, more));

/** Taken, and told to the supplier as it was said. */
const passesOn = (name: string, value: unknown) => async (world: SpecificationWorld) => {
  const { body } = await heardOf(world, chat, (text) => chatOf(text, { [name]: value }));
  same(at(body, name), value, name);
};

const refuses =
  (name: string, ...values: unknown[]) =>
  async (world: SpecificationWorld) => {
    for (const value of values) await refused(asked(world, { [name]: value }), 400, 'invalid_request', name);
  };

const requestRows: readonly Row[] = [
  row(S, '`model` is required', async (world) => {
    await refused(asked(world, { model: undefined }), 400, 'missing_model', 'model');
  }),
  row(S, '`model` is a string', async (world) => {
    await refused(asked(world, { model: 7 }), 400, 'invalid_request', 'model');
  }),
  row(S, '`model` takes every id that `GET /v1/models` names', async (world) => {
    const { client } = await world.caller();
    const list = listAt(await okJson(client.get('/v1/models')), 'data') as { id: string }[];
    const ids = list.map(({ id }) => id).filter((id) => id === 'spec-chat' || id === 'sim-small');
    same(ids.length, 2, 'models of the list');
    for (const id of ids) same(at(await answered(world, { model: id }), 'model'), id, 'model');
  }),
  row(S, 'a `model` that is in no list is refused', async (world) => {
    await refused(asked(world, { model: 'nowhere' }), 404, 'model_not_found', 'model');
  }),
  row(S, '`messages` is required', async (world) => {
    await refused(asked(world, { messages: undefined }), 400, 'invalid_request', 'messages');
  }),
  row(S, '`messages` is a list of objects', async (world) => {
    for (const wrong of ['Hello', {}, 7])
      await refused(asked(world, { messages: wrong }), 400, 'invalid_request', 'messages');
    const answer = await asked(world, { messages: ['Hello'] });
    same(answer.status, 400, 'status');
  }),
  row(
    S,
    'messages of the roles `system`, `user` and `assistant` reach the supplier as they are',
    async (world) => {
      const said = (text: string) => [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: text },
        { role: 'assistant', content: 'Yes?' },
        { role: 'user', content: 'Go on.' },
      ];
      const { body } = await heardOf(world, chat, (text) => chatOf('', { messages: said(text) }));
      const heard = listAt(body, 'messages') as { role: string; content: string }[];
      same(heard.map(({ role }) => role).join(), 'system,user,assistant,user', 'roles');
      same([heard[0]?.content, heard[2]?.content], ['Be short.', 'Yes?'], 'contents');
    },
  ),
  row(S, '`metadata.session_id` is taken', async (world) => {
    const answer = await ok(asked(world, { metadata: { session_id: 'one' } }));
    same(at(await recordOf((await world.caller()).client, answer), 'session_id'), 'one', 'session');
  }),
  row(S, '`metadata.sticky_key` is taken', async (world) => {
    const answer = await ok(asked(world, { metadata: { sticky_key: 'two' } }));
    same(at(await recordOf((await world.caller()).client, answer), 'session_id'), 'two', 'session');
  }),
  row(S, 'without `stream`, and with false, the answer is whole', async (world) => {
    for (const more of [{}, { stream: false }]) {
      const answer = await ok(asked(world, more));
      expect(answer.headers.get('content-type')?.startsWith('application/json') ?? false, 'no JSON');
    }
  }),
  row(S, '`stream: true` streams tokens as server-sent events', async (world) => {
    const { client } = await world.caller();
    const { status, headers, data } = await streamed(world, client, chat, chatOf('Hello', { stream: true }));
    same([status, headers['content-type']?.split(';')[0]], [200, 'text/event-stream'], 'head');
    const words = data.map((event) => at(event, 'choices.0.delta.content')).filter((text) => text);
    expect(words.length > 2, `${words.length} pieces`);
  }),
  row(
    S,
    '`stream: true` sends tokens as they come: the first ones arrive while the supplier goes on',
    async (world) => {
      const { name, upstream } = await world.newModel();
      // This supplier falls silent after six events, for ever.
      await (await world.suppliers()).fault('first', upstream[0] ?? '', { kind: 'stall', after: 6 });
      const { client } = await world.caller();
      const json = chatOf('[[tokens=60]]', { model: name, stream: true });
      await readUntil(world, client, [chat, json], /"content":"[^"]+".*"content":"[^"]+"/s);
    },
  ),
  row(S, '`stream` is a boolean', refuses('stream', 'yes', 1)),
  row(S, '`temperature` 0 and 2 are taken', async (world) => {
    await passesOn('temperature', 0)(world);
    await passesOn('temperature', 2)(world);
  }),
  row(S, '`temperature` is a number', refuses('temperature', 'warm', true)),
  row(
    S,
    '`temperature` left out means 1.0',
    async (world) => {
      const { body } = await heardOf(world, chat, (text) => chatOf(text));
      expect([undefined, 1].includes(at(body, 'temperature') as number), 'another temperature was sent');
    },
    {
      decided: openPoint(
        'defaults of 1.0 are left to the supplier: a parameter that the request leaves out is not sent',
      ),
    },
  ),
  row(S, '`max_tokens` bounds the tokens that are generated', async (world) => {
    const answer = await answered(world, {
      max_tokens: 5,
      messages: [{ role: 'user', content: '[[tokens=40]]' }],
    });
    same(numberAt(answer, 'usage.completion_tokens'), 5, 'tokens');
    same(at(answer, 'choices.0.finish_reason'), 'length', 'finish_reason');
  }),
  row(S, '`max_tokens` is a whole number above 0', refuses('max_tokens', 0, -1, 1.5, 'ten')),
  row(S, '`top_p` 0 and 1 are taken', async (world) => {
    await passesOn('top_p', 0)(world);
    await passesOn('top_p', 1)(world);
  }),
  row(S, '`top_p` is a number', refuses('top_p', 'all', true)),
  row(
    S,
    '`top_p` left out means 1.0',
    async (world) => {
      const { body } = await heardOf(world, chat, (text) => chatOf(text));
      expect([undefined, 1].includes(at(body, 'top_p') as number), 'another top_p was sent');
    },
    {
      decided: openPoint(
        'defaults of 1.0 are left to the supplier: a parameter that the request leaves out is not sent',
      ),
    },
  ),
  row(S, '`region` restricts the call to that region', async (world) => {
    const heard = await heardOf(world, chat, (text) => chatOf(text, { region: 'us' }));
    same(heard.at, 'second', 'the supplier');
    same(at(heard.body, 'region'), undefined, 'region that was sent on');
  }),
  row(S, '`region` is a string', refuses('region', 7, ['eu'])),
  row(
    S,
    '`region` is read without regard to case and surrounding blanks',
    async (world) => {
      for (const region of ['EU', ' eu '])
        same((await ok(asked(world, { region }))).headers.get('x-svc-region'), 'eu', 'region');
    },
    {
      decided: openPoint(
        'regions are compared in lower case, and one that no lane has is 400 invalid_request',
      ),
    },
  ),
  row(S, 'a `region` that no lane of the catalogue has is refused', refuses('region', 'mars'), {
    decided: openPoint('regions are compared in lower case, and one that no lane has is 400 invalid_request'),
  }),
];

const answerRows: readonly Row[] = [
  row(S, '`id` is a string, another one for each answer', async (world) => {
    const ids = [];
    for (const _time of [1, 2])
      ids.push(textAt(await answered(world, { messages: [{ role: 'user', content: mark() }] }), 'id'));
    expect(ids[0] !== ids[1], `twice ${ids[0]}`);
  }),
  row(S, '`object` is `chat.completion`', async (world) => {
    same(at(await answered(world), 'object'), 'chat.completion', 'object');
  }),
  row(S, '`model` is the model that was asked', async (world) => {
    same(at(await answered(world), 'model'), 'spec-chat', 'model');
  }),
  row(S, '`choices[].index` is a whole number from 0 on', async (world) => {
    const answer = await answered(world, { n: 2 });
    same(
      listAt(answer, 'choices').map((choice) => at(choice, 'index')),
      [0, 1],
      'indexes',
    );
  }),
  row(S, '`choices[].message.role` is `assistant`', async (world) => {
    same(at(await answered(world), 'choices.0.message.role'), 'assistant', 'role');
  }),
  row(S, '`choices[].message.content` is what the supplier said', async (world) => {
    const text = mark();
    const answer = await answered(world, { messages: [{ role: 'user', content: `[[echo=${text}]]` }] });
    same(at(answer, 'choices.0.message.content'), text, 'content');
  }),
  row(S, '`choices[].finish_reason` is a string', async (world) => {
    same(at(await answered(world), 'choices.0.finish_reason'), 'stop', 'finish_reason');
  }),
  ...['prompt_tokens', 'completion_tokens', 'total_tokens'].map((name) =>
    row(S, `\`usage.${name}\` is a whole number`, async (world) => {
      expect(Number(field(await answered(world), `usage.${name}`, 'integer')) > 0, `no ${name}`);
    }),
  ),
  row(S, '`usage.total_tokens` is the sum', async (world) => {
    const { usage } = await answered(world);
    const sum = numberAt(usage, 'prompt_tokens') + numberAt(usage, 'completion_tokens');
    same(numberAt(usage, 'total_tokens'), sum, 'total_tokens');
  }),
];

/** Every field that the document names is there, whatever the supplier left out. */
const bare: readonly [field: string, left: string][] = [
  ['id', 'id'],
  ['object', 'object'],
  ['choices.0.index', 'index'],
  ['choices.0.message.role', 'role'],
  ['choices.0.finish_reason', 'finish_reason'],
  ['usage.prompt_tokens', 'usage'],
  ['usage.completion_tokens', 'usage'],
  ['usage.total_tokens', 'usage'],
];

/** A supplier's answer without this field. */
function bareAnswer(left: string): object {
  const whole = {
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
    JSON.stringify(whole, (name, value: unknown) => (name === left ? undefined : value)),
  ) as object;
}

const bareRows: readonly Row[] = bare.map(([path, left]) =>
  row(S, `\`${path.replace('.0', '[]')}\` is there where the supplier leaves it out`, async (world) => {
    const { name, upstream } = await world.newModel();
    await (await world.suppliers()).answer('first', upstream[0] ?? '', bareAnswer(left));
    const answer = await okJson(asked(world, { model: name }));
    if (left === 'usage' || left === 'index') field(answer, path, 'integer');
    else field(answer, path, 'string');
  }),
);

export const chatRows: readonly Row[] = [
  ...requestRows,
  ...answerRows,
  ...bareRows,
  row(S, 'body, headers and record tell the same tokens where the supplier reports none', async (world) => {
    const { name, upstream } = await world.newModel();
    await (await world.suppliers()).answer('first', upstream[0] ?? '', bareAnswer('usage'));
    const answer = await ok(asked(world, { model: name }));
    const record = await recordOf((await world.caller()).client, answer);
    const said = JSON.parse(answer.text) as object;
    for (const [inBody, name] of [
      ['prompt_tokens', 'input'],
      ['completion_tokens', 'output'],
    ] as const) {
      const header = Number(answer.headers.get(`x-svc-${name}-tokens`));
      same(
        [numberAt(said, `usage.${inBody}`), numberAt(record, `${name}_tokens`)],
        [header, header],
        `${name} tokens`,
      );
    }
  }),
];
