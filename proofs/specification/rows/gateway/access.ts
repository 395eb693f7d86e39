import { expect, expectStatus, jsonOf, type ClientRequestOptions } from '../../../operations/http';
import { readRecording } from '../../../../test/support/forged-recordings';
import { openPoint, row, type SpecificationRow } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  at,
  chat,
  chatOf,
  embeddings,
  embeddingsOf,
  field,
  headerOf,
  interfaces,
  listAt,
  messages,
  native,
  nativeOf,
  ok,
  okJson,
  recording,
  recordingOf,
  recordOf,
  expectRejected,
  rerank,
  rerankOf,
  same,
  speech,
  speechOf,
  textAt,
  transcriptions,
} from './gateway-calls';

/** A valid request for a model of this kind. */
function requestOf(kind: string, model: string): (ClientRequestOptions & { readonly path: string }) | null {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 16 };
  const paths: Readonly<Record<string, readonly [path: string, json: object]>> = {
    // `auto` chooses a chat model.
    auto: [messages, body],
    chat: [messages, body],
    native: [native, nativeOf('Hello', { model })],
    embedding: [embeddings, embeddingsOf('Hello', { model })],
    rerank: [rerank, rerankOf({ model })],
    speech: [speech, speechOf('Hello', { model, voice: 'nova' })],
    moderation: ['/v1/moderations', { model, input: 'Hello' }],
    image: ['/v1/images/generations', { model, prompt: 'A house' }],
  };
  if (kind === 'transcription') {
    const upload = recordingOf({ model }, readRecording('pcm.wav'), 'speech.wav');
    return { path: transcriptions, ...upload };
  }
  const request = paths[kind];
  return request === undefined ? null : { path: request[0], json: request[1] };
}

const modelRows: readonly SpecificationRow[] = [
  row('2.1', '`id` is a string that is taken as `model`: every model of the list answers', async (world) => {
    const { client } = await world.caller();
    const list = listAt(await okJson(client.get('/v1/models')), 'data');
    // Other rows break the models that they create.
    const stableModels = list.filter((model) => !/^spec-[0-9a-f]{10}$/.test(textAt(model, 'id')));
    const kinds = new Set<string>();
    for (const model of stableModels) {
      const [id, kind] = [textAt(model, 'id'), textAt(model, 'kind')];
      kinds.add(kind);
      const request = requestOf(kind, id);
      expect(request !== null, `no request is known for ${id} of kind ${kind}`);
      const answer = await client.post(request.path, request);
      expect(answer.status === 200, `${id}: ${answer.status} ${answer.text.slice(0, 200)}`);
      const isNamed = id !== 'auto' && ['chat', 'embedding', 'rerank'].includes(kind);
      if (isNamed) same(at(jsonOf(answer), 'model'), id, 'who answers');
    }
    for (const kind of ['chat', 'native', 'embedding', 'rerank', 'transcription', 'speech'])
      expect(kinds.has(kind), `no model of kind ${kind} is listed`);
  }),
  row('2.1', '`object` is always `model`', async (world) => {
    const { client } = await world.caller();
    const list = listAt(await okJson(client.get('/v1/models')), 'data');
    expect(list.length > 5 && list.every((model) => at(model, 'object') === 'model'), 'another object');
  }),
  row('2.1', '`owned_by` is the name of the provider', async (world) => {
    const { client } = await world.caller();
    const list = listAt(await okJson(client.get('/v1/models')), 'data');
    for (const model of list) field(model, 'owned_by', 'string');
    same(
      at(
        list.find((model) => at(model, 'id') === 'spec-chat'),
        'owned_by',
      ),
      'first',
      'owned_by',
    );
  }),
  row(
    '4.1',
    '`GET /v1/models` answers 200 with a list of models',
    async (world) => {
      const { client } = await world.caller();
      const answer = await okJson(client.get('/v1/models'));
      same(at(answer, 'object'), 'list', 'object');
      expect(listAt(answer, 'data').length > 5, 'few models');
    },
    { decided: openPoint('the array of models is data of an envelope that both families of SDKs read') },
  ),
  row(
    '4.1',
    '`GET /v1/models` lists what the key may call, and nothing else',
    async (world) => {
      await world.suppliers();
      const { client } = await world.keyWith({
        allowed_models: ['spec-chat', 'spec-native'],
        allowed_regions: 'eu',
      });
      const list = listAt(await okJson(client.get('/v1/models')), 'data');
      same(
        list.map((model) => at(model, 'id')),
        ['spec-chat'],
        'models',
      );
    },
    { decided: openPoint('only models that the key can call are listed') },
  ),
  row('4.1', '`GET /health` needs no key and answers 200 with `status` `ok`', async (world) => {
    const answer = await world.anonymous.get('/health');
    expectStatus(answer, 200);
    same(jsonOf(answer)['status'], 'ok', 'status');
  }),
];

const byBearer = [...interfaces, [transcriptions, {}] as const];
const routeRows: readonly SpecificationRow[] = [
  ...byBearer.map(([path, json]) =>
    row(
      '4.1',
      `\`POST ${path}\` takes a Bearer token, and answers 401 without one and to a wrong one`,
      async (world) => {
        const { client } = await world.caller();
        const body = path === transcriptions ? recording() : { json };
        await ok(client.post(path, body));
        await expectRejected(world.anonymous.post(path, body), 401, 'missing_api_key');
        await expectRejected(world.as('svc_wrong').post(path, body), 401, 'invalid_api_key');
      },
    ),
  ),
  row(
    '4.1',
    '`GET /v1/models` takes a Bearer token, and answers 401 without one and to a wrong one',
    async (world) => {
      const { client } = await world.caller();
      await ok(client.get('/v1/models'));
      await expectRejected(world.anonymous.get('/v1/models'), 401, 'missing_api_key');
      await expectRejected(world.as('svc_wrong').get('/v1/models'), 401, 'invalid_api_key');
    },
  ),
  row(
    '5.1',
    '`x-api-key` is taken by `/v1/messages` and `/v1/messages/count_tokens`, and nowhere else',
    async (world) => {
      const { text } = await world.caller();
      const headers = { 'x-api-key': text };
      for (const [path, json] of interfaces) {
        const responsePromise = world.anonymous.post(path, { json, headers });
        if (path.startsWith(messages)) await ok(responsePromise);
        else await expectRejected(responsePromise, 401, 'missing_api_key');
      }
    },
  ),
  row(
    '4.1',
    'another method on a route of the gateway is refused',
    async (world) => {
      const { client } = await world.caller();
      for (const [path] of interfaces) {
        // OpenAI serves its list of stored completions at this path.
        const isVendorRoute = path === '/v1/chat/completions';
        const [status, code] = isVendorRoute ? [501, 'not_implemented'] : [405, 'method_not_allowed'];
        await expectRejected(client.get(path), status, code);
      }
      await expectRejected(world.anonymous.post('/health'), 405, 'method_not_allowed');
    },
    {
      decided: openPoint(
        'a wrong method is 405, an unknown path 404, a route that is known and not offered 501',
      ),
    },
  ),
  row(
    '4.1',
    'a path that nobody serves is refused',
    async (world) => {
      const { client } = await world.caller();
      await expectRejected(client.get('/v1/nowhere'), 404, 'not_found');
    },
    {
      decided: openPoint(
        'a wrong method is 405, an unknown path 404, a route that is known and not offered 501',
      ),
    },
  ),
];

const sessionOf = async (world: SpecificationWorld, headers: Record<string, string>, metadata: object) => {
  const { client } = await world.caller();
  const answer = await ok(client.post(chat, { json: chatOf('Hello', { metadata }), headers }));
  return at(await recordOf(client, answer), 'session_id');
};

const sessionRows: readonly SpecificationRow[] = [
  row('2.4', '`X-Session-Id` comes before `metadata.session_id` and `metadata.sticky_key`', async (world) => {
    same(
      await sessionOf(world, { 'x-session-id': 'a' }, { session_id: 'b', sticky_key: 'c' }),
      'a',
      'session',
    );
  }),
  row('2.4', '`metadata.session_id` comes before `metadata.sticky_key`', async (world) => {
    same(await sessionOf(world, {}, { session_id: 'b', sticky_key: 'c' }), 'b', 'session');
  }),
  row('2.4', '`metadata.sticky_key` counts where nothing else is given', async (world) => {
    same(await sessionOf(world, {}, { sticky_key: 'c' }), 'c', 'session');
  }),
  row('2.4', 'the identifier traces each request: it stands in its record', async (world) => {
    same(await sessionOf(world, { 'x-session-id': 'traced' }, {}), 'traced', 'session');
  }),
  row('2.4', 'requests of one session stay on the supplier that answered first', async (world) => {
    const { client } = await world.caller();
    const lanes = new Set<string>();
    for (let session = 0; session < 12; session += 1) {
      const headers = { 'x-session-id': `stays-${session}` };
      const suppliersSeen = new Set<string>();
      for (let turn = 0; turn < 4; turn += 1) {
        const json = chatOf(`Turn ${turn} of ${session}`, { model: 'spec-shared' });
        suppliersSeen.add(headerOf(await ok(client.post(chat, { json, headers })), 'x-svc-supplier'));
      }
      same(suppliersSeen.size, 1, `suppliers of session ${session}`);
      lanes.add([...suppliersSeen].join());
    }
    same([...lanes].toSorted(), ['first', 'second'], 'suppliers of all sessions');
  }),
  row(
    '2.4',
    'without an identifier continuity is inferred from the beginning of the conversation',
    async (world) => {
      const { client } = await world.caller();
      for (let talk = 0; talk < 6; talk += 1) {
        const first = { role: 'user', content: `Talk ${talk} ${Math.random()}` };
        const rest = [
          { role: 'assistant', content: 'Yes?' },
          { role: 'user', content: 'Go on.' },
        ];
        const suppliers = [];
        for (const turns of [[first], [first, ...rest], [first, ...rest, ...rest]]) {
          const json = chatOf('', { model: 'spec-shared', messages: turns });
          suppliers.push(headerOf(await ok(client.post(chat, { json })), 'x-svc-supplier'));
        }
        same(new Set(suppliers).size, 1, `suppliers of one conversation`);
      }
    },
    { decided: openPoint('continuity is inferred from key, model, system text and first message') },
  ),
  row('2.4', 'identifiers of sessions are not sent to suppliers', async (world) => {
    const { client } = await world.caller();
    const text = `kept ${Math.random()}`;
    const metadata = { session_id: 'secret-session', sticky_key: 'secret-key' };
    for (const model of ['spec-chat', 'spec-messages'])
      await ok(
        client.post(chat, {
          json: chatOf(text, { model, metadata }),
          headers: { 'x-session-id': 'secret-header' },
        }),
      );
    const upstreamRequests = await (await world.suppliers()).requestsWith(text);
    same(
      [upstreamRequests.length, JSON.stringify(upstreamRequests).includes('secret-')],
      [2, false],
      'heard',
    );
  }),
];

export const accessRows: readonly SpecificationRow[] = [...modelRows, ...routeRows, ...sessionRows];
