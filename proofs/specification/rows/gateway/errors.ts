import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '#product/views';
import { type Answer, expect, expectStatus, jsonOf } from '../../../operations/http';
import { row, type Row, unseen } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  ask,
  at,
  chat,
  chatOf,
  embeddings,
  embeddingsOf,
  field,
  headerOf,
  listAt,
  manage,
  messages,
  messagesOf,
  native,
  nativeOf,
  ok,
  okJson,
  refused,
  same,
  speech,
  speechOf,
  textAt,
} from './asking';

interface Listed {
  readonly code: string;
  readonly class: string;
}

/** The codes of section 7 of the document, each with its class. */
const { codes } = JSON.parse(readFileSync(join(projectFolder, 'test/contract/error-codes.json'), 'utf8')) as {
  readonly codes: readonly Listed[];
};

/** Refusals of every kind of route. */
const refusals: readonly [what: string, ask: (world: SpecificationWorld) => Promise<Answer>][] = [
  ['chat', (world) => ask(world, chat, chatOf('Hello', { model: 'nowhere' }))],
  ['messages', (world) => ask(world, messages, messagesOf('Hello', { model: 'nowhere' }))],
  ['native', (world) => ask(world, native, nativeOf('Hello', { model: 'nowhere' }))],
  ['embeddings', (world) => ask(world, embeddings, embeddingsOf('Hello', { model: 'nowhere' }))],
  ['speech', (world) => ask(world, speech, speechOf('Hello', { model: 'nowhere' }))],
  ['management', (world) => world.rootKey.get(`${manage}/nobody00`)],
  ['a missing key', (world) => world.anonymous.post(chat, { json: chatOf() })],
];

const objectRows: readonly Row[] = [
  ...refusals.map(([what, send]) =>
    row(
      '2.5',
      `a refusal of ${what} has \`error.code\`, \`error.type\`, \`error.message\` and \`error.human_message\``,
      async (world) => {
        const answer = await send(world);
        const { error } = jsonOf(answer);
        const known = codes.map(({ code }) => code);
        expect(known.includes(textAt(error, 'code')), `an unknown code: ${answer.text.slice(0, 200)}`);
        expect(textAt(error, 'type').endsWith('_error'), 'type');
        same(
          textAt(error, 'message'),
          `${textAt(error, 'code')} - ${textAt(error, 'human_message')}`,
          'message',
        );
      },
    ),
  ),
  row(
    '2.5',
    '`error.type` is the category of the status',
    async (world) => {
      const types = [];
      for (const [, send] of refusals) {
        const answer = await send(world);
        types.push([answer.status, at(jsonOf(answer), 'error.type')]);
      }
      const wanted: Readonly<Record<number, string>> = {
        401: 'authentication_error',
        404: 'not_found_error',
      };
      for (const [status, type] of types) same(type, wanted[Number(status)], `type of ${Number(status)}`);
    },
    { decided: 'docs/api.md' },
  ),
  row(
    '2.5',
    'JSON of the portal keeps `detail` and adds `code`, `message` and `human_message` at its top',
    async (world) => {
      const { client } = await world.person('user');
      const answer = await client.get('/dashboard/api/usage?days=never');
      expectStatus(answer, 422);
      const body = jsonOf(answer);
      same(at(body, 'code'), 'validation_error', 'code');
      same(textAt(body, 'message'), `validation_error - ${textAt(body, 'human_message')}`, 'message');
      expect(listAt(body, 'detail').length > 0, 'no detail');
    },
  ),
  row(
    '2.5',
    'a refusal of the portal without parameters keeps `error` or `detail` as well',
    async (world) => {
      const answer = await world.anonymous.get('/api/legal/status');
      expectStatus(answer, 401);
      const body = jsonOf(answer);
      expect(body['error'] !== undefined || body['detail'] !== undefined, `neither: ${answer.text}`);
      same(textAt(body, 'message'), `${textAt(body, 'code')} - ${textAt(body, 'human_message')}`, 'message');
    },
  ),
];

/** The whole answer of a supplier that refuses with this error. */
async function supplierRefuses(
  world: SpecificationWorld,
  error: object,
  status = 400,
): Promise<Record<string, unknown>> {
  const { name, upstream } = await world.newModel();
  await (
    await world.suppliers()
  ).fault('first', upstream[0] ?? '', { kind: 'status', status, body: { error } });
  return jsonOf(await ask(world, chat, chatOf('Hello', { model: name })));
}

const supplierRows: readonly Row[] = [
  row('2.5', 'codes of suppliers keep their own identity', async (world) => {
    const answer = await supplierRefuses(world, {
      message: 'No such voice.',
      code: 'voice_unknown',
      type: 'odd_error',
    });
    same(at(answer, 'error.code'), 'voice_unknown', 'code');
    same(at(answer, 'error.details.supplier.code'), 'voice_unknown', 'code in the details');
  }),
  row('2.5', 'numeric codes of suppliers keep their own identity', async (world) => {
    const answer = await supplierRefuses(world, { message: 'Invalid params', code: -32_602, type: 'rpc' });
    same(at(answer, 'error.details.supplier.code'), -32_602, 'code');
  }),
  row(
    '2.5',
    'a message is split at its first ` - ` only where a valid code stands before it',
    async (world) => {
      const text = 'Bad value - try another - soon';
      const answer = await supplierRefuses(world, { message: text, type: 'invalid_request_error' });
      same(at(answer, 'error.code'), 'invalid_request', 'code');
      const message = textAt(answer, 'error.message');
      expect(message.startsWith('invalid_request - ') && message.endsWith(text), `message: ${message}`);
    },
  ),
  row('7.1', 'dynamic codes of suppliers occur beside those of the platform', async (world) => {
    const answer = await supplierRefuses(world, { message: 'No.', code: 'content_filter_v9', type: 'odd' });
    same(at(answer, 'error.code'), 'content_filter_v9', 'code');
  }),
];

/** A key whose owner has to pay and has nothing. */
async function penniless(world: SpecificationWorld) {
  await world.suppliers();
  const { userId } = await world.newPerson({ billingExempt: false });
  return world.keyWith({ user_id: userId });
}

const handlingRows: readonly Row[] = [
  row('7.1', 'an empty wallet is `billing_limit_reached`, `permission_error`, 403', async (world) => {
    const { client } = await penniless(world);
    const answer = await refused(client.post(chat, { json: chatOf() }), 403, 'billing_limit_reached');
    same(at(jsonOf(answer), 'error.type'), 'permission_error', 'type');
  }),
  row('7.1', 'another valid key does not help an empty wallet', async (world) => {
    const { userId } = await world.newPerson({ billingExempt: false });
    await world.suppliers();
    for (const _time of [1, 2]) {
      const { client } = await world.keyWith({ user_id: userId });
      await refused(client.post(chat, { json: chatOf() }), 403, 'billing_limit_reached');
    }
  }),
  row(
    '7.1',
    'a budget is no wallet: a key with budget left and an empty wallet is refused for the wallet',
    async (world) => {
      const { userId } = await world.newPerson({ billingExempt: false });
      await world.suppliers();
      const { client } = await world.keyWith({ user_id: userId, budget_limit: 100 });
      await refused(client.post(chat, { json: chatOf() }), 403, 'billing_limit_reached');
    },
  ),
  row(
    '7.1',
    '`Retry-After` stands on a refusal that a repetition may mend, in whole seconds',
    async (world) => {
      await world.suppliers();
      const { client } = await world.keyWith({ rate_limit_rpm: 1 });
      await ok(client.post(chat, { json: chatOf() }));
      const answer = await refused(client.post(chat, { json: chatOf() }), 429, 'rate_limit_exceeded');
      expect(/^[1-9]\d?$/.test(headerOf(answer, 'retry-after')), 'retry-after');
      same(field(jsonOf(answer), 'error.retryable', 'boolean'), true, 'retryable');
    },
  ),
  row('7.1', 'what must not be repeated says so', async (world) => {
    await world.suppliers();
    const { client } = await world.keyWith({ budget_limit: 0 });
    const answer = await refused(client.post(chat, { json: chatOf() }), 402, 'budget_exceeded');
    same(
      [at(jsonOf(answer), 'error.retryable'), headerOf(answer, 'x-should-retry')],
      [false, 'false'],
      'retryable',
    );
  }),
  row(
    '7.1',
    'a call that a supplier may have carried out is not repeated: one request, one answer',
    async (world) => {
      const { name, upstream } = await world.newModel();
      await ok(ask(world, chat, chatOf('Hello', { model: name })));
      same((await (await world.suppliers()).heard('first', upstream[0] ?? '')).length, 1, 'requests');
    },
  ),
  row(
    '7.1',
    'a code has the status that the catalogue names for it',
    async (world) => {
      for (const [, send] of refusals) {
        const answer = await send(world);
        const code = textAt(jsonOf(answer), 'error.code');
        same(
          at(await okJson(world.anonymous.get(`/v1/errors/${code}`)), 'status'),
          answer.status,
          `status of ${code}`,
        );
      }
    },
    { decided: 'docs/api.md' },
  ),
];

const sections: Readonly<Record<string, string>> = { R: '7.3', B: '7.4', C: '7.5', P: '7.6', F: '7.7' };
const actions: Readonly<Record<string, RegExp>> = {
  R: /correct the request/i,
  B: /Retry-After.*back off/is,
  C: /credential/i,
  P: /policy/i,
  F: /balance.*limits.*payment/is,
};

const entriesOf = async (world: SpecificationWorld) =>
  listAt(await okJson(world.anonymous.get('/v1/errors')), 'data') as Record<string, unknown>[];

const classRows: readonly Row[] = Object.entries(sections).flatMap(([name, section]) => {
  const listed = codes.filter((code) => code.class === name).map(({ code }) => code);
  const own = name === 'F' ? 1 : 0;
  return [
    row('7.2', `class ${name} has its suggested action`, async (world) => {
      const entry = (await entriesOf(world)).find(({ code }) => code === listed[0]);
      expect(actions[name]?.test(textAt(entry, 'action')) ?? false, `action: ${String(entry?.['action'])}`);
    }),
    row(section, `the ${listed.length} codes of class ${name} are these and no others`, async (world) => {
      const ownCodes = codes.filter((code) => code.class === 'own').map(({ code }) => code);
      const seen = (await entriesOf(world))
        .filter((entry) => entry['action_class'] === name)
        .map(({ code }) => String(code));
      same(seen.filter((code) => !ownCodes.includes(code)).toSorted(), listed.toSorted(), 'codes');
      if (own === 1) expect(seen.includes('billing_limit_reached'), 'billing_limit_reached is of class F');
    }),
    row(
      section,
      `each code of class ${name} has a text for people, a type, a status and the action of its class`,
      async (world) => {
        const entries = await entriesOf(world);
        const first = textAt(
          entries.find(({ code }) => code === listed[0]),
          'action',
        );
        for (const code of listed) {
          const entry = entries.find((one) => one['code'] === code);
          for (const text of ['human_message', 'type']) textAt(entry, text);
          expect(Number(field(entry, 'status', 'integer')) >= 400, `status of ${code}`);
          same(at(entry, 'action'), first, `action of ${code}`);
        }
      },
    ),
  ];
});

/** The document says to do this about each code with a meaning of its own. */
const own: Readonly<Record<string, readonly [meaning: string, action: RegExp]>> = {
  billing_limit_reached: ['the payer cannot fund the request', /billing administrator/],
  budget_exceeded: ["the key's budget was reached", /wait.*reset.*wallet/is],
  csrf_rejected: ['the same-origin check failed', /reload.*sign in/is],
  edge_error: ['the service could not be reached', /exponential backoff.*support/is],
  identity_execution_capacity: ['the identity has no capacity', /Retry-After.*do not switch/is],
  atomic_canary_manual_review: ['a settlement is unconfirmed', /do not (repeat|release).*request ID/is],
  atomic_canary_unknown: ['an outcome is unknown', /do not (repeat|release).*request ID/is],
  realtime_call_recovery_required: ['a call needs recovery', /do not create.*request ID/is],
  requester_bridge_required_unavailable: [
    'the bridge is unavailable',
    /restore the bridge.*do not keep retrying/is,
  ],
  settlement_pending: ['the settlement is pending', /same body.*Idempotency-Key.*never.*new key/is],
  stream_error: ['the stream could not be completed', /incomplete.*side effects/is],
  stream_interrupted: ['the stream stopped', /incomplete.*side effects/is],
  streaming_settlement_buffer_exceeded: [
    'a buffer exceeded its limit',
    /support.*smaller response.*buffer/is,
  ],
  streaming_settlement_cancelled: ['a settlement was cancelled', /does not prove.*support/is],
  streaming_settlement_failed: ['a settlement did not complete', /unconfirmed.*do not repeat/is],
  supplier_price_unresolved: ['the price could not be confirmed', /exact price.*already carried out/is],
  supplier_settlement_failed: ['usage could not be confirmed', /do not repeat.*request ID/is],
  supplier_settlement_unavailable: [
    'the settlement is unavailable',
    /do not repeat.*automatically.*support/is,
  ],
};

const ownRows: readonly Row[] = Object.entries(own).map(([code, [meaning, action]]) =>
  row('7.8', `\`${code}\` (${meaning}) has a text and an action of its own`, async (world) => {
    const entry = await okJson(world.anonymous.get(`/v1/errors/${code}`));
    same(at(entry, 'code'), code, 'code');
    textAt(entry, 'human_message');
    expect(action.test(textAt(entry, 'action')), `action: ${textAt(entry, 'action')}`);
  }),
);

const otherRows: readonly Row[] = [
  row('7.1', '268 codes are declared', async (world) => {
    const seen = (await entriesOf(world)).map(({ code }) => String(code));
    same(seen.toSorted(), codes.map(({ code }) => code).toSorted(), 'codes');
    same(seen.length, 268, 'count');
  }),
  row(
    '7.9',
    'parameters of portal operations that are invalid answer 422 with a body that names them',
    async (world) => {
      const { client } = await world.person('user');
      const answer = await client.get('/dashboard/api/autorouter?days=many');
      expectStatus(answer, 422);
      same(at(jsonOf(answer), 'detail.0.loc'), ['query', 'days'], 'loc');
      for (const name of ['msg', 'type']) field(jsonOf(answer), `detail.0.${name}`, 'string');
    },
    { decided: 'docs/portal.md' },
  ),
  row(
    '7.9',
    'misuse of the native route is refused',
    async (world) => {
      await refused(
        ask(world, native, nativeOf('Hello', { stream: false })),
        400,
        'invalid_request',
        'stream',
      );
      await refused(ask(world, native, nativeOf('Hello', { input: 'Hello' })), 400, 'invalid_input', 'input');
    },
    { decided: 'docs/native.md' },
  ),
  unseen(
    '7.1',
    'text is not matched, unknown codes are handled, and side effects are not repeated by a client',
    'this is what clients do',
  ),
];

export const errorRows: readonly Row[] = [
  ...objectRows,
  ...supplierRows,
  ...handlingRows,
  ...classRows,
  ...ownRows,
  ...otherRows,
];
