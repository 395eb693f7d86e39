import { expect, expectStatus, jsonOf } from '../../../operations/http';
import { row, type Row, unseen } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  ask,
  at,
  chat,
  chatOf,
  headerOf,
  interfaces,
  listAt,
  messages,
  messagesOf,
  ok,
  okJson,
  recording,
  refused,
  same,
  textAt,
  transcriptions,
} from './asking';

const interfaceRows: readonly Row[] = [
  ...interfaces.map(([path, json]) =>
    row(
      '1.1',
      `\`POST ${path}\` is served at the one base address`,
      async (world) => void (await ok(ask(world, path, json))),
    ),
  ),
  row('1.1', `\`POST ${transcriptions}\` is served at the one base address`, async (world) => {
    await ok((await world.caller()).client.post(transcriptions, recording()));
  }),
  row('1.1', 'an SDK of the chat style works with another base address and key', async (world) => {
    const headers = {
      'user-agent': 'OpenAI/JS 6.0.0',
      'x-stainless-lang': 'js',
      'x-stainless-retry-count': '0',
      accept: 'application/json',
    };
    const { client } = await world.caller();
    const answer = await okJson(client.post(chat, { json: chatOf(), headers }));
    same(at(answer, 'object'), 'chat.completion', 'object');
  }),
  row('1.1', 'an SDK of the messages style works with another base address and key', async (world) => {
    const { text } = await world.caller();
    const headers = {
      'x-api-key': text,
      'anthropic-version': '2023-06-01',
      'user-agent': 'Anthropic/JS 0.70.0',
      'x-stainless-lang': 'js',
    };
    const answer = await okJson(
      world.anonymous.post(`${messages}?beta=true`, { json: messagesOf(), headers }),
    );
    same(at(answer, 'type'), 'message', 'type');
  }),
  row('1.2', '`auto` is accepted by the messages style, and a model of the list answers', async (world) => {
    const answer = await okJson(ask(world, messages, messagesOf('Hello', { model: 'auto' })));
    const { client } = await world.caller();
    const list = listAt(await okJson(client.get('/v1/models')), 'data').map((model) => at(model, 'id'));
    expect(list.includes(textAt(answer, 'model')), `answered by ${textAt(answer, 'model')}`);
  }),
];

const failing = [
  ['a rate limit', 429],
  ['an error of its own', 500],
  ['an overload', 503],
  ['a wrong method', 405],
  ['a conflict', 409],
  ['a media type it does not take', 415],
  ['an entity it does not take', 422],
  ['a legal reason', 451],
] as const;

async function failed(world: SpecificationWorld, status: number) {
  const { name, upstream } = await world.newModel({ lanes: [{ at: 'first' }, { at: 'second' }] });
  await (await world.suppliers()).fault('first', upstream[0] ?? '', { kind: 'status', status });
  return ask(world, chat, chatOf('Hello', { model: name }));
}

const failoverRows: readonly Row[] = [
  ...failing.map(([what, status]) =>
    row('1.3', `another supplier answers when the first refuses with ${what} (${status})`, async (world) => {
      const answer = await ok(failed(world, status));
      same(
        [headerOf(answer, 'x-svc-supplier'), headerOf(answer, 'x-svc-failover')],
        ['second', 'true'],
        'lane',
      );
      same(at(jsonOf(answer), 'object'), 'chat.completion', 'object');
    }),
  ),
  row('1.3', '`x-svc-failover` is false when the first supplier answers', async (world) => {
    same(headerOf(await ok(ask(world, chat, chatOf())), 'x-svc-failover'), 'false', 'failover');
  }),
  row('1.3', 'the caller hears of a failure when every supplier fails', async (world) => {
    const { name, upstream } = await world.newModel({ lanes: [{ at: 'first' }, { at: 'second' }] });
    const suppliers = await world.suppliers();
    await suppliers.fault('first', upstream[0] ?? '', { kind: 'status', status: 500 });
    await suppliers.fault('second', upstream[1] ?? '', { kind: 'status', status: 500 });
    await refused(ask(world, chat, chatOf('Hello', { model: name })), 503, 'upstream_unavailable');
  }),
];

const limitRows: readonly Row[] = [
  row('1.4', 'the budget of a key is enforced', async (world) => {
    await world.suppliers();
    const { client } = await world.keyWith({ budget_limit: 0.0000001 });
    await refused(client.post(chat, { json: chatOf() }), 402, 'budget_exceeded');
  }),
  row('1.4', 'the model list of a key is enforced on every route', async (world) => {
    await world.suppliers();
    const { client } = await world.keyWith({ allowed_models: ['sim-small'] });
    for (const [path, json] of interfaces)
      await refused(client.post(path, { json }), 403, 'model_not_allowed');
  }),
  row('1.4', 'the regions of a key are enforced: no supplier elsewhere is asked', async (world) => {
    const { name, upstream } = await world.newModel({ lanes: [{ at: 'second' }] });
    const { client } = await world.keyWith({ allowed_regions: 'eu' });
    await refused(
      client.post(chat, { json: chatOf('Hello', { model: name }) }),
      503,
      'sovereign_route_unavailable',
    );
    same((await (await world.suppliers()).heard('second', upstream[0] ?? '')).length, 0, 'requests');
  }),
  row('1.4', 'the rate of a key is enforced', async (world) => {
    await world.suppliers();
    const { client } = await world.keyWith({ rate_limit_rpm: 2 });
    const json = chatOf();
    for (const _time of [1, 2]) await ok(client.post(chat, { json }));
    const answer = await refused(client.post(chat, { json }), 429, 'rate_limit_exceeded');
    const seconds = Number(headerOf(answer, 'retry-after'));
    expect(Number.isInteger(seconds) && seconds > 0 && seconds <= 60, `retry after ${seconds}`);
  }),
  row(
    '1.4',
    'a call with a `region` that cannot be met fails, and is not routed elsewhere',
    async (world) => {
      const { name, upstream } = await world.newModel({ lanes: [{ at: 'first' }] });
      const json = chatOf('Hello', { model: name, region: 'us' });
      const answer = await refused(ask(world, chat, json), 503, 'sovereign_route_unavailable');
      same(answer.headers.get('x-should-retry'), 'false', 'x-should-retry');
      same((await (await world.suppliers()).heard('first', upstream[0] ?? '')).length, 0, 'requests');
    },
  ),
  row('1.4', 'a failing supplier within the region is not replaced by one outside', async (world) => {
    const { name, upstream } = await world.newModel({ lanes: [{ at: 'first' }, { at: 'second' }] });
    const suppliers = await world.suppliers();
    await suppliers.fault('first', upstream[0] ?? '', { kind: 'status', status: 500 });
    const answer = await ask(world, chat, chatOf('Hello', { model: name, region: 'eu' }));
    same(
      [answer.status >= 500, (await suppliers.heard('second', upstream[1] ?? '')).length],
      [true, 0],
      'refused, asked elsewhere',
    );
  }),
];

const signedOut = [
  '/login',
  '/signup',
  '/legal/terms',
  '/legal/privacy',
  '/pricing',
  '/features',
  '/api-docs',
];
const dashboard = [
  '',
  '/keys',
  '/usage',
  '/request-log',
  '/activity',
  '/models',
  '/autorouter',
  '/qualitative',
  '/billing',
  '/settings',
];
const administration = [
  'users',
  'organisations',
  'projects',
  'models',
  'promotions',
  'users/invite',
  'conversations',
  'audit',
];
const asPage = { headers: { accept: 'text/html' } };

const portalRows: readonly Row[] = [
  ...dashboard.map((path) =>
    row('1.7', `the portal has \`/dashboard${path}\``, async (world) => {
      const { client } = await world.person('user');
      const answer = await client.get(`/dashboard${path}`, asPage);
      expectStatus(answer, 200);
      expect(/^text\/html/.test(headerOf(answer, 'content-type')) && answer.text.includes('<h1'), 'no page');
    }),
  ),
  ...administration.map((path) =>
    row('1.7', `the administration has \`/dashboard/admin/${path}\`, for its roles alone`, async (world) => {
      const admin = await (
        await world.person('platform_admin')
      ).client.get(`/dashboard/admin/${path}`, asPage);
      expectStatus(admin, 200);
      expect(admin.text.includes('<h1'), 'no page');
      expectStatus(await (await world.person('user')).client.get(`/dashboard/admin/${path}`, asPage), 403);
    }),
  ),
  ...signedOut.map((path) =>
    row('1.8', `\`${path}\` is a page that needs no session`, async (world) => {
      const answer = await world.anonymous.get(path, asPage);
      expectStatus(answer, 200);
      expect(/^text\/html/.test(headerOf(answer, 'content-type')) && answer.text.includes('<h1'), 'no page');
    }),
  ),
];

export const serviceRows: readonly Row[] = [
  ...interfaceRows,
  ...failoverRows,
  ...limitRows,
  ...portalRows,
  unseen('1.8', 'how a page is made', 'its reader sees the page, not whether it was made before'),
];
