import { CatalogueEditor, CatalogueService, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import { Organisation } from '#product/identity';
import { StateMaintenance } from '#product/autorouter';
import { learn, outcome } from '../../support/learned';
import {
  app,
  ask,
  closeHouse,
  decisionOf,
  makeKey,
  openHouse,
  organisationId,
  set,
  simulator,
  tidyHouse,
  user,
} from './auto-house';

beforeAll(async () => {
  await openHouse();
  for (const name of ['moved', 'frail', 'talker']) await addModel(name);
  await app.database.query(
    `UPDATE model SET redirect_to = (SELECT id FROM model WHERE name = 'sim-large') WHERE name = 'moved'`,
  );
  await app.application.get(CatalogueService).reload();
});
afterEach(tidyHouse);
afterAll(closeHouse);

/** A model of its own beside those of the sandbox, at its supplier. */
async function addModel(name: string, capabilities: string[] = []): Promise<void> {
  const one = parseUsdPerMillion('1');
  await app.database.transaction(async (tx) => {
    const editor = new CatalogueEditor();
    await editor.upsertModel(tx, {
      name,
      kind: 'chat',
      ownedBy: 'test',
      capabilities,
      maxOutputTokens: 8_000,
    });
    await editor.setLanes(tx, name, [{ provider: 'sandbox', upstreamModel: `sim-${name}`, region: 'local' }]);
    await new PriceService().addPrice(tx, {
      model: name,
      source: 'test',
      rates: priceRates({ input: one, output: one }),
    });
  });
  await app.application.get(CatalogueService).reload();
}
const on = (more: object = {}) => set('organisation', organisationId, { mode: 'on', ...more });
const excludedOf = async (requestId: string | null) => (await decisionOf(requestId))?.excluded;

test('a model that leads to another is none itself: the other is asked', async () => {
  const { requestId } = await ask((await makeKey()).text);
  expect(await excludedOf(requestId)).toMatchObject({ redirect: 1 });
});

test('a model whose only lane rests after failures is none, until it is well again', async () => {
  const { text } = await makeKey();
  await simulator.addFault({ match: { model: 'sim-frail' }, fault: { kind: 'status', status: 500 } });
  let excluded: Readonly<Record<string, number>> | undefined;
  for (let at = 0; at < 40 && excluded?.['unhealthy'] === undefined; at += 1) {
    await ask(text, { model: 'frail' });
    excluded = await excludedOf((await ask(text)).requestId);
  }
  expect(excluded).toMatchObject({ unhealthy: 1 });
  const alone = await makeKey({ allowedModels: ['frail'] });
  let resting: Awaited<ReturnType<typeof ask>> | undefined;
  for (let at = 0; at < 40 && resting?.json.error?.code !== 'autorouter_no_candidate'; at += 1)
    resting = await ask(alone.text);
  expect([resting?.status, resting?.json.error]).toMatchObject([
    503,
    { retryable: true, details: { excluded: { unhealthy: 1 } } },
  ]);
});

test('what is too long for all is told as of a named model', async () => {
  const { text } = await makeKey({ allowedModels: ['sim-small'] });
  const body = { messages: [{ role: 'user', content: 'word '.repeat(400_000) }] };
  for (const path of ['/v1/chat/completions', '/v1/messages']) {
    const { status, json } = await ask(text, body, path);
    expect([status, json.error]).toMatchObject([400, { code: 'context_length_exceeded', retryable: false }]);
  }
});

test.each<[string, object, Record<string, number>]>([
  [
    'tools',
    { tools: [{ type: 'function', function: { name: 'sort', parameters: { type: 'object' } } }] },
    { capability: 2 },
  ],
  [
    'a JSON schema',
    { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } } },
    { capability: 3 },
  ],
  [
    'sound',
    {
      messages: [
        {
          role: 'user',
          content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }],
        },
      ],
    },
    { capability: 6 },
  ],
  [
    'a document',
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
          ],
        },
      ],
    },
    { capability: 6 },
  ],
])('a model that cannot take %s is none', async (_what, body, excluded) => {
  const { requestId, status, json } = await ask((await makeKey()).text, body, '/v1/chat/completions');
  if (status === 200) expect(await excludedOf(requestId)).toMatchObject(excluded);
  else {
    expect([status, json.error?.code]).toEqual([400, 'unsupported_parameter']);
    expect(json.error?.details?.excluded).toMatchObject(excluded);
  }
});

test('what a request may cost at most leaves out dearer models, and all of them if it must', async () => {
  await on({ max_cost_per_request: '0.0001' });
  const { text } = await makeKey();
  const { json, requestId } = await ask(text);
  expect(json.model).toBe('sim-small');
  expect((await excludedOf(requestId))?.['max_cost']).toBeGreaterThanOrEqual(1);
  await on({ max_cost_per_request: '0.000000001' });
  const none = await ask(text);
  expect([none.status, none.json.error?.code]).toEqual([400, 'invalid_request']);
  expect(none.json.error?.details?.excluded).toMatchObject({ max_cost: 6 });
});

test('below the least quality none is chosen but the best there is, and the decision says so', async () => {
  await on({ min_quality: 0.99, dial: 10 });
  const { requestId } = await ask((await makeKey()).text);
  expect(await decisionOf(requestId)).toMatchObject({
    reason: 'quality_floor',
    excluded: { min_quality: 2 },
  });
  await on({ min_quality: 0.5 });
  expect(await excludedOf((await ask((await makeKey()).text)).requestId)).not.toHaveProperty('min_quality');
});

test('what the organisation has locked no key differs from, but for its limits', async () => {
  await on({ algorithm: 'static', locked: true });
  const key = await makeKey();
  await set('key', key.id, { algorithm: 'cheapest', exclude: ['sim-8k'] });
  const { json, requestId } = await ask(key.text);
  expect(json.model).toBe('sim-large');
  expect(await decisionOf(requestId)).toMatchObject({
    reason: 'algorithm_static',
    excluded: { not_included: 1 },
  });
});

const surfaces = ['/v1/messages', '/v1/chat/completions', '/v1/responses'] as const;

describe.each(surfaces)('on %s', (path) => {
  const tools =
    path === '/v1/messages'
      ? [{ name: 'sort', input_schema: { type: 'object' } }]
      : path === '/v1/responses'
        ? [{ type: 'function', name: 'sort', parameters: { type: 'object' } }]
        : [{ type: 'function', function: { name: 'sort', parameters: { type: 'object' } } }];
  const called = { type: 'function', id: 'call_1', function: { name: 'sort', arguments: '{}' } };
  const withResult =
    path === '/v1/messages'
      ? {
          messages: [
            user('Sort this list'),
            { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'sort', input: {} }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'done' }] },
          ],
        }
      : path === '/v1/responses'
        ? {
            input: [
              user('Sort this list'),
              { type: 'function_call', call_id: 'call_1', name: 'sort', arguments: '{}' },
              { type: 'function_call_output', call_id: 'call_1', output: 'done' },
            ],
          }
        : {
            messages: [
              user('Sort this list'),
              { role: 'assistant', tool_calls: [called] },
              { role: 'tool', tool_call_id: 'call_1', content: 'done' },
            ],
          };

  test('the result of a tool goes to the model that called it, which no setting changes between', async () => {
    await on();
    const { text, id } = await makeKey();
    expect((await ask(text, { tools }, path)).json.model).toBe('sim-small');
    await set('key', id, { algorithm: 'static', stickiness: false });
    const next = await ask(text, { tools, ...withResult }, path);
    expect(next.json.model).toBe('sim-small');
    expect(await decisionOf(next.requestId)).toMatchObject({
      reason: 'tool_result',
      fallback_order: expect.anything() as object,
    });
    await set('key', id, { exclude: ['sim-small'] });
    const gone = await ask(text, { tools, ...withResult }, path);
    expect([gone.status, gone.json.error?.code]).toEqual([400, 'invalid_request']);
    expect(gone.json.error?.details?.reason).toBe('tool_call_model_gone');
  });

  test('a stream names the model that answers, and the next turn finds it', async () => {
    await on();
    const { text, id } = await makeKey();
    const body =
      path === '/v1/responses'
        ? { input: 'Sort this list' }
        : { max_tokens: 50, messages: [user('Sort this list')] };
    const headers = {
      authorization: `Bearer ${text}`,
      'content-type': 'application/json',
      'x-session-id': `of ${path}`,
    };
    const answer = await fetch(`${app.url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'auto', stream: true, ...body }),
    });
    expect(answer.status).toBe(200);
    const events = await answer.text();
    expect(events).toContain('"model":"sim-small"');
    expect(events).not.toContain('"model":"auto"');
    expect(await decisionOf(answer.headers.get('x-request-id'))).toMatchObject({
      chosen: 'sim-small',
      session: { sticky: 'new' },
    });
    await set('key', id, { dial: 0 });
    const next = await ask(text, {}, path, { 'x-session-id': `of ${path}` });
    expect(await decisionOf(next.requestId)).toMatchObject({
      chosen: 'sim-small',
      session: { sticky: 'kept', source: 'named' },
    });
  });
});

describe('requests unlike what is known', () => {
  const nouns = [
    'harbour',
    'violin',
    'glacier',
    'lantern',
    'orchard',
    'parliament',
    'saddle',
    'turbine',
    'walnut',
    'zeppelin',
  ];
  const known = (at: number) =>
    `Describe the ${nouns[at % 10]} beside the ${nouns[(at * 7 + 3) % 10]} with care`;
  const foreign = (at: number) => `Quelle heure est-il donc à Genève ce soir ${'oui '.repeat(at % 7)}`;
  const said = (text: string) => ({ messages: [user(text)] });

  test('go to the reference model; when most of the traffic is such, all of it does, until it is familiar again', async () => {
    const organisations = app.database.source.getRepository(Organisation);
    const row = organisations.create({ name: 'drifting', slug: 'drifting' });
    await organisations.insert(row);
    for (let at = 0; at < 260; at += 1) {
      const outcomes = [outcome('sim-small', 0.9), outcome('sim-large', 0.9)];
      await learn(app, row.id, { id: `d${at}`, text: known(at), outcomes });
    }
    await app.application.get(StateMaintenance).store(row.id);
    await set('organisation', row.id, { mode: 'on' });
    const { text } = await makeKey({ organisationId: row.id });
    const decided = async (question: string) => decisionOf((await ask(text, said(question))).requestId);
    expect(await decided(known(1))).toMatchObject({ chosen: 'sim-small', drift: 'calm' });
    expect(await decided(foreign(0))).toMatchObject({
      reason: 'unfamiliar_request',
      chosen: 'sim-large',
      drift: 'calm',
    });
    for (let at = 0; at < 110; at += 1) await ask(text, said(foreign(at)));
    expect(await decided(known(2))).toMatchObject({
      reason: 'traffic_changed',
      chosen: 'sim-large',
      drift: 'reference',
    });
    let decision = await decided(known(3));
    for (let at = 4; at < 300 && decision?.drift !== 'calm'; at += 1) decision = await decided(known(at));
    expect(decision).toMatchObject({ chosen: 'sim-small', drift: 'calm' });
  });
});
