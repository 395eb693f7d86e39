import { type ReadResponse, expect, expectStatus, jsonOf } from '../../../operations/http';
import { openPoint, row, type SpecificationRow, unseen } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  sendRequest,
  at,
  chat,
  chatOf,
  embeddings,
  embeddingsOf,
  field,
  headerOf,
  listAt,
  manage,
  uniqueWord,
  messages,
  messagesOf,
  native,
  nativeOf,
  numberAt,
  ok,
  okJson,
  recordOf,
  expectRejected,
  same,
  speech,
  speechOf,
  textAt,
} from './gateway-calls';
import { codes } from './codes';

/** Rejections of every kind of route. */
const refusals: readonly [what: string, ask: (world: SpecificationWorld) => Promise<ReadResponse>][] = [
  ['chat', (world) => sendRequest(world, chat, chatOf('Hello', { model: 'nowhere' }))],
  ['messages', (world) => sendRequest(world, messages, messagesOf('Hello', { model: 'nowhere' }))],
  ['native', (world) => sendRequest(world, native, nativeOf('Hello', { model: 'nowhere' }))],
  ['embeddings', (world) => sendRequest(world, embeddings, embeddingsOf('Hello', { model: 'nowhere' }))],
  ['speech', (world) => sendRequest(world, speech, speechOf('Hello', { model: 'nowhere' }))],
  ['management', (world) => world.rootKey.get(`${manage}/nobody00`)],
  ['a missing key', (world) => world.anonymous.post(chat, { json: chatOf() })],
];

const objectRows: readonly SpecificationRow[] = [
  ...refusals.map(([what, send]) =>
    row(
      '2.5',
      `a refusal of ${what} has \`error.code\`, \`error.type\`, \`error.message\` and \`error.human_message\``,
      async (world) => {
        const answer = await send(world);
        const { error } = jsonOf(answer);
        const knownCodes = codes.map(({ code }) => code);
        expect(knownCodes.includes(textAt(error, 'code')), `an unknown code: ${answer.text.slice(0, 200)}`);
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
      const expectedTypes: Readonly<Record<number, string>> = {
        401: 'authentication_error',
        404: 'not_found_error',
      };
      for (const [status, type] of types)
        same(type, expectedTypes[Number(status)], `type of ${Number(status)}`);
    },
    { decided: openPoint('each code has one status and one type') },
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

/** Complete response of a supplier that rejects with this error. */
async function supplierRejects(
  world: SpecificationWorld,
  error: object,
  status = 400,
): Promise<Record<string, unknown>> {
  const { name, upstream } = await world.newModel();
  await (
    await world.suppliers()
  ).fault('first', upstream[0] ?? '', { kind: 'status', status, body: { error } });
  return jsonOf(await sendRequest(world, chat, chatOf('Hello', { model: name })));
}

const supplierRows: readonly SpecificationRow[] = [
  row('2.5', 'codes of suppliers keep their own identity', async (world) => {
    const answer = await supplierRejects(world, {
      message: 'No such voice.',
      code: 'voice_unknown',
      type: 'odd_error',
    });
    same(at(answer, 'error.code'), 'voice_unknown', 'code');
    same(at(answer, 'error.details.supplier.code'), 'voice_unknown', 'code in the details');
  }),
  row('2.5', 'numeric codes of suppliers keep their own identity', async (world) => {
    const answer = await supplierRejects(world, { message: 'Invalid params', code: -32_602, type: 'rpc' });
    same(at(answer, 'error.details.supplier.code'), -32_602, 'code');
  }),
  row(
    '2.5',
    'a message is split at its first ` - ` only where a valid code stands before it',
    async (world) => {
      const text = 'Bad value - try another - soon';
      const answer = await supplierRejects(world, { message: text, type: 'invalid_request_error' });
      same(at(answer, 'error.code'), 'invalid_request', 'code');
      const message = textAt(answer, 'error.message');
      expect(message.startsWith('invalid_request - ') && message.endsWith(text), `message: ${message}`);
    },
  ),
  row('7.1', 'dynamic codes of suppliers occur beside those of the platform', async (world) => {
    const answer = await supplierRejects(world, { message: 'No.', code: 'content_filter_v9', type: 'odd' });
    same(at(answer, 'error.code'), 'content_filter_v9', 'code');
  }),
];

/** A key whose owner has to pay and has an empty wallet. */
async function keyWithoutFunds(world: SpecificationWorld) {
  await world.suppliers();
  const { userId } = await world.newPerson({ billingExempt: false });
  return world.keyWith({ user_id: userId });
}

const handlingRows: readonly SpecificationRow[] = [
  row('7.1', 'an empty wallet is `billing_limit_reached`, `permission_error`, 403', async (world) => {
    const { client } = await keyWithoutFunds(world);
    const answer = await expectRejected(client.post(chat, { json: chatOf() }), 403, 'billing_limit_reached');
    same(at(jsonOf(answer), 'error.type'), 'permission_error', 'type');
  }),
  row('7.1', 'another valid key does not help an empty wallet', async (world) => {
    const { userId } = await world.newPerson({ billingExempt: false });
    await world.suppliers();
    for (const _time of [1, 2]) {
      const { client } = await world.keyWith({ user_id: userId });
      await expectRejected(client.post(chat, { json: chatOf() }), 403, 'billing_limit_reached');
    }
  }),
  row(
    '7.1',
    'a budget is no wallet: a key with budget left and an empty wallet is refused for the wallet',
    async (world) => {
      const { userId } = await world.newPerson({ billingExempt: false });
      await world.suppliers();
      const { client } = await world.keyWith({ user_id: userId, budget_limit: 100 });
      await expectRejected(client.post(chat, { json: chatOf() }), 403, 'billing_limit_reached');
    },
  ),
  row(
    '7.1',
    '`Retry-After` stands on a refusal that a repetition may mend, in whole seconds',
    async (world) => {
      await world.suppliers();
      const { client } = await world.keyWith({ rate_limit_rpm: 1 });
      await ok(client.post(chat, { json: chatOf() }));
      const answer = await expectRejected(client.post(chat, { json: chatOf() }), 429, 'rate_limit_exceeded');
      expect(/^[1-9]\d?$/.test(headerOf(answer, 'retry-after')), 'retry-after');
      same(field(jsonOf(answer), 'error.retryable', 'boolean'), true, 'retryable');
    },
  ),
  row('7.1', 'an error that a retry cannot fix says so in its metadata and in a header', async (world) => {
    await world.suppliers();
    const exhaustedKey = await world.keyWith({ budget_limit: 0 });
    const restrictedKey = await world.keyWith({ allowed_models: ['sim-small'] });
    const unfundedKey = await keyWithoutFunds(world);
    for (const [{ client }, status, code] of [
      [exhaustedKey, 402, 'budget_exceeded'],
      [restrictedKey, 403, 'model_not_allowed'],
      [unfundedKey, 403, 'billing_limit_reached'],
    ] as const) {
      const answer = await expectRejected(client.post(chat, { json: chatOf() }), status, code);
      same(
        [at(jsonOf(answer), 'error.retryable'), headerOf(answer, 'x-should-retry')],
        [false, 'false'],
        `retryable of ${code}`,
      );
    }
  }),
  row(
    '7.1',
    'an operation with side effects is not repeated: the same `Idempotency-Key` is carried out and charged once',
    async (world) => {
      const { name, upstream } = await world.newModel();
      const { client, id } = await world.keyWith({ budget_limit: 5 });
      const requestOptions = {
        json: chatOf('Hello', { model: name }),
        headers: { 'idempotency-key': uniqueWord() },
      };
      const first = await ok(client.post(chat, requestOptions));
      const repeat = await ok(client.post(chat, requestOptions));
      same(repeat.text, first.text, 'the answer');
      same((await (await world.suppliers()).requestsFor('first', upstream[0] ?? '')).length, 1, 'requests');
      await recordOf(client, first);
      const key = await okJson(world.rootKey.get(`${manage}/${id}`));
      same(numberAt(key, 'budget_used'), Number(headerOf(first, 'x-svc-cost-usd')), 'what was charged');
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
    { decided: openPoint('each code has one status and one type') },
  ),
];

const otherRows: readonly SpecificationRow[] = [
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
    {
      decided: openPoint('the validation body is {detail: [{loc, msg, type}], code, message, human_message}'),
    },
  ),
  row(
    '7.9',
    'misuse of the native route is refused',
    async (world) => {
      await expectRejected(
        sendRequest(world, native, nativeOf('Hello', { stream: false })),
        400,
        'invalid_request',
        'stream',
      );
      await expectRejected(
        sendRequest(world, native, nativeOf('Hello', { input: 'Hello' })),
        400,
        'invalid_input',
        'input',
      );
    },
    {
      decided: openPoint(
        'misuse of the native route is 400 invalid_request (stream) or invalid_input (input)',
      ),
    },
  ),
  unseen(
    '7.1',
    'text is not matched, unknown codes are handled, and side effects are not repeated by a client',
    'this is what clients do',
  ),
];

export const errorRows: readonly SpecificationRow[] = [
  ...objectRows,
  ...supplierRows,
  ...handlingRows,
  ...otherRows,
];
