import { expect, jsonOf } from '../../../operations/http';
import { row, type SpecificationRow, unseen } from '../../row';
import {
  sendRequest,
  at,
  chat,
  chatOf,
  headerOf,
  interfaces,
  listAt,
  manage,
  messages,
  messagesOf,
  native,
  nativeOf,
  numberAt,
  ok,
  okJson,
  onEveryInterface,
  recording,
  recordOf,
  expectRejected,
  same,
  textAt,
  transcriptions,
} from './gateway-calls';

const interfaceRows: readonly SpecificationRow[] = [
  ...interfaces.map(([path, json]) =>
    row(
      '1.1',
      `\`POST ${path}\` is served at the one base address`,
      async (world) => void (await ok(sendRequest(world, path, json))),
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
    const autoResponse = await ok(sendRequest(world, messages, messagesOf('Hello', { model: 'auto' })));
    const answer = jsonOf(autoResponse);
    const { client } = await world.caller();
    const list = listAt(await okJson(client.get('/v1/models')), 'data').map((model) => at(model, 'id'));
    const model = textAt(answer, 'model');
    expect(model !== 'auto' && list.includes(model), `answered by ${model}`);
    same(headerOf(autoResponse, 'x-svc-auto').split(';')[0], model, 'x-svc-auto');
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

const failoverRows: readonly SpecificationRow[] = [
  ...failing.map(([what, status]) =>
    row(
      '1.3',
      `another supplier answers on every interface when the first refuses with ${what} (${status})`,
      async (world) => {
        const [suppliers, { client }] = [await world.suppliers(), await world.caller()];
        await onEveryInterface(async (one) => {
          const { name, upstream } = await world.newModel({
            kind: one.kind,
            lanes: [{ at: 'first' }, { at: 'second' }],
          });
          await suppliers.fault('first', upstream[0] ?? '', { kind: 'status', status });
          const answer = await ok(one.ask(client, name));
          same(
            ['supplier', 'region', 'failover'].map((header) => headerOf(answer, `x-svc-${header}`)),
            ['second', 'us', 'true'],
            'lane',
          );
          const routes = [
            await suppliers.requestsFor('first', upstream[0] ?? ''),
            await suppliers.requestsFor('second', upstream[1] ?? ''),
          ];
          same(
            routes.map(({ length }) => length),
            [1, 1],
            'requests at the first and at the second supplier',
          );
        });
      },
    ),
  ),
  row('1.3', '`x-svc-failover` is false when the first supplier answers', async (world) => {
    same(headerOf(await ok(sendRequest(world, chat, chatOf())), 'x-svc-failover'), 'false', 'failover');
  }),
  row('1.3', 'the caller hears of a failure when every supplier fails, on every interface', async (world) => {
    const [suppliers, { client }] = [await world.suppliers(), await world.caller()];
    await onEveryInterface(async (one) => {
      const { name, upstream } = await world.newModel({
        kind: one.kind,
        lanes: [{ at: 'first' }, { at: 'second' }],
      });
      await suppliers.fault('first', upstream[0] ?? '', { kind: 'status', status: 500 });
      await suppliers.fault('second', upstream[1] ?? '', { kind: 'status', status: 500 });
      const answer = await expectRejected(one.ask(client, name), 503, 'upstream_unavailable');
      expect(/^[1-9]\d*$/.test(headerOf(answer, 'retry-after')), 'retry-after');
    });
  }),
];

const limitRows: readonly SpecificationRow[] = [
  row(
    '1.4',
    'the budget of a key is enforced: calls at the same time spend no more than it',
    async (world) => {
      const limit = 0.002;
      await world.suppliers();
      const { id, client } = await world.keyWith({ budget_limit: limit });
      const json = chatOf('[[tokens=300]]', { max_tokens: 300 });
      const answers = await Promise.all(Array.from({ length: 12 }, () => client.post(chat, { json })));
      const servedAnswers = answers.filter(({ status }) => status === 200);
      expect(servedAnswers.length > 0 && servedAnswers.length < 12, `${servedAnswers.length} of 12 served`);
      const costs = servedAnswers.map((answer) => Number(headerOf(answer, 'x-svc-cost-usd')));
      const totalCost = costs.reduce((sum, cost) => sum + cost, 0);
      expect(totalCost > limit / 2 && totalCost <= limit, `spent ${totalCost} of ${limit}`);
      for (const answer of answers.filter(({ status }) => status !== 200))
        expect(
          ['budget_exceeded', 'capacity_exceeded'].includes(textAt(jsonOf(answer), 'error.code')),
          answer.text,
        );
      for (const answer of servedAnswers) await recordOf(client, answer);
      const key = await okJson(world.rootKey.get(`${manage}/${id}`));
      same(numberAt(key, 'budget_used').toFixed(9), totalCost.toFixed(9), 'budget_used');
      await expectRejected(client.post(chat, { json }), 402, 'budget_exceeded');
    },
  ),
  row('1.4', 'the model list of a key is enforced on every route', async (world) => {
    await world.suppliers();
    const { client } = await world.keyWith({ allowed_models: ['sim-small'] });
    for (const [path, json] of interfaces)
      await expectRejected(client.post(path, { json }), 403, 'model_not_allowed');
    await expectRejected(client.post(transcriptions, recording()), 403, 'model_not_allowed');
  }),
  row(
    '1.4',
    'the regions of a key are enforced on every interface: no supplier in another region is called',
    async (world) => {
      const suppliers = await world.suppliers();
      const { client } = await world.keyWith({ allowed_regions: 'eu' });
      await onEveryInterface(async (one) => {
        const { name, upstream } = await world.newModel({ kind: one.kind, lanes: [{ at: 'second' }] });
        const answer = await expectRejected(one.ask(client, name), 503, 'sovereign_route_unavailable');
        same(headerOf(answer, 'x-should-retry'), 'false', 'x-should-retry');
        same((await suppliers.requestsFor('second', upstream[0] ?? '')).length, 0, 'requests');
      });
      await expectRejected(client.post(native, { json: nativeOf() }), 503, 'sovereign_route_unavailable');
    },
  ),
  row('1.4', 'the rate of a key is enforced, also among calls at the same time', async (world) => {
    await world.suppliers();
    const { client } = await world.keyWith({ rate_limit_rpm: 2 });
    const json = chatOf();
    const answers = await Promise.all(Array.from({ length: 6 }, () => client.post(chat, { json })));
    same(
      answers.map(({ status }) => status).toSorted(),
      [200, 200, 429, 429, 429, 429],
      'statuses of six calls',
    );
    const answer = await expectRejected(client.post(chat, { json }), 429, 'rate_limit_exceeded');
    const seconds = Number(headerOf(answer, 'retry-after'));
    expect(Number.isInteger(seconds) && seconds > 0 && seconds <= 60, `retry after ${seconds}`);
  }),
  row(
    '1.4',
    'a call with a `region` that cannot be met fails, and is not routed elsewhere',
    async (world) => {
      const { name, upstream } = await world.newModel({ lanes: [{ at: 'first' }] });
      const json = chatOf('Hello', { model: name, region: 'us' });
      const answer = await expectRejected(sendRequest(world, chat, json), 503, 'sovereign_route_unavailable');
      same(answer.headers.get('x-should-retry'), 'false', 'x-should-retry');
      same((await (await world.suppliers()).requestsFor('first', upstream[0] ?? '')).length, 0, 'requests');
    },
  ),
  row('1.4', 'a failing supplier within the region is not replaced by one outside', async (world) => {
    const { name, upstream } = await world.newModel({ lanes: [{ at: 'first' }, { at: 'second' }] });
    const suppliers = await world.suppliers();
    await suppliers.fault('first', upstream[0] ?? '', { kind: 'status', status: 500 });
    const answer = await sendRequest(world, chat, chatOf('Hello', { model: name, region: 'eu' }));
    same(
      [answer.status >= 500, (await suppliers.requestsFor('second', upstream[1] ?? '')).length],
      [true, 0],
      'refused, asked elsewhere',
    );
  }),
];

export const serviceRows: readonly SpecificationRow[] = [
  ...interfaceRows,
  ...failoverRows,
  ...limitRows,
  unseen('1.8', 'how a page is made', 'its reader sees the page, not whether it was made before'),
];
