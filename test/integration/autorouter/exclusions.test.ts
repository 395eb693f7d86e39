import { CatalogueEditor, CatalogueService, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import { Organisation } from '#product/identity';
import { StateMaintenance } from '#product/autorouter';
import { learnExample, createOutcome } from '../../support/learning-examples';
import {
  app,
  sendAuto,
  closeAutoFixture,
  decisionOf,
  makeKey,
  openAutoFixture,
  organisationId,
  setAuto,
  simulator,
  resetAutoFixture,
  user,
} from './auto-fixture';

beforeAll(async () => {
  await openAutoFixture();
  for (const name of ['moved', 'frail', 'talker']) await addModel(name);
  await app.database.query(
    `UPDATE model SET redirect_to = (SELECT id FROM model WHERE name = 'sim-large') WHERE name = 'moved'`,
  );
  await app.application.get(CatalogueService).reload();
});
afterEach(resetAutoFixture);
afterAll(closeAutoFixture);

/** Adds a model next to those of the sandbox, at the same supplier. */
async function addModel(name: string, capabilities: string[] = []): Promise<void> {
  const onePerMillion = parseUsdPerMillion('1');
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
      rates: priceRates({ input: onePerMillion, output: onePerMillion }),
    });
  });
  await app.application.get(CatalogueService).reload();
}
const switchOn = (more: object = {}) => setAuto('organisation', organisationId, { mode: 'on', ...more });
const excludedOf = async (requestId: string | null) => (await decisionOf(requestId))?.excluded;

test('a model that redirects to another is not a candidate', async () => {
  const { requestId } = await sendAuto((await makeKey()).text);
  expect(await excludedOf(requestId)).toMatchObject({ redirect: 1 });
});

test('a model whose only lane has an open circuit breaker is not a candidate', async () => {
  const { text } = await makeKey();
  await simulator.addFault({ match: { model: 'sim-frail' }, fault: { kind: 'status', status: 500 } });
  let excluded: Readonly<Record<string, number>> | undefined;
  for (let at = 0; at < 40 && excluded?.['unhealthy'] === undefined; at += 1) {
    await sendAuto(text, { model: 'frail' });
    excluded = await excludedOf((await sendAuto(text)).requestId);
  }
  expect(excluded).toMatchObject({ unhealthy: 1 });
  const frailKey = await makeKey({ allowedModels: ['frail'] });
  let openAnswer: Awaited<ReturnType<typeof sendAuto>> | undefined;
  for (let at = 0; at < 40 && openAnswer?.json.error?.code !== 'autorouter_no_candidate'; at += 1)
    openAnswer = await sendAuto(frailKey.text);
  expect([openAnswer?.status, openAnswer?.json.error]).toMatchObject([
    503,
    { retryable: true, details: { excluded: { unhealthy: 1 } } },
  ]);
});

test('a request that is too long for every model returns the same error as for a named model', async () => {
  const { text } = await makeKey({ allowedModels: ['sim-small'] });
  const body = { messages: [{ role: 'user', content: 'word '.repeat(400_000) }] };
  for (const path of ['/v1/chat/completions', '/v1/messages']) {
    const { status, json } = await sendAuto(text, body, path);
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
])('a model that does not support %s is not a candidate', async (_what, body, excluded) => {
  const { requestId, status, json } = await sendAuto((await makeKey()).text, body, '/v1/chat/completions');
  if (status === 200) expect(await excludedOf(requestId)).toMatchObject(excluded);
  else {
    expect([status, json.error?.code]).toEqual([400, 'unsupported_parameter']);
    expect(json.error?.details?.excluded).toMatchObject(excluded);
  }
});

test('max_cost_per_request excludes more expensive models, or all of them', async () => {
  await switchOn({ max_cost_per_request: '0.0001' });
  const { text } = await makeKey();
  const { json, requestId } = await sendAuto(text);
  expect(json.model).toBe('sim-small');
  expect((await excludedOf(requestId))?.['max_cost']).toBeGreaterThanOrEqual(1);
  await switchOn({ max_cost_per_request: '0.000000001' });
  const refusal = await sendAuto(text);
  expect([refusal.status, refusal.json.error?.code]).toEqual([400, 'invalid_request']);
  expect(refusal.json.error?.details?.excluded).toMatchObject({ max_cost: 6 });
});

test('the best model is chosen when none reaches min_quality, and the decision reports the floor', async () => {
  await switchOn({ min_quality: 0.99, dial: 10 });
  const { requestId } = await sendAuto((await makeKey()).text);
  expect(await decisionOf(requestId)).toMatchObject({
    reason: 'quality_floor',
    excluded: { min_quality: 2 },
  });
  await switchOn({ min_quality: 0.5 });
  expect(await excludedOf((await sendAuto((await makeKey()).text)).requestId)).not.toHaveProperty(
    'min_quality',
  );
});

test('a key cannot override locked settings of its organisation, except with its own limits', async () => {
  await switchOn({ algorithm: 'static', locked: true });
  const key = await makeKey();
  await setAuto('key', key.id, { algorithm: 'cheapest', exclude: ['sim-8k'] });
  const { json, requestId } = await sendAuto(key.text);
  expect(json.model).toBe('sim-large');
  expect(await decisionOf(requestId)).toMatchObject({
    reason: 'algorithm_static',
    excluded: { not_included: 1 },
  });
});

const surfaces = ['/v1/messages', '/v1/chat/completions', '/v1/responses'] as const;

describe.each(surfaces)('Sessions on %s', (path) => {
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

  test('a tool result goes to the model that made the call, whatever the settings are', async () => {
    await switchOn();
    const { text, id } = await makeKey();
    expect((await sendAuto(text, { tools }, path)).json.model).toBe('sim-small');
    await setAuto('key', id, { algorithm: 'static', stickiness: false });
    const next = await sendAuto(text, { tools, ...withResult }, path);
    expect(next.json.model).toBe('sim-small');
    expect(await decisionOf(next.requestId)).toMatchObject({
      reason: 'tool_result',
      fallback_order: expect.anything() as object,
    });
    await setAuto('key', id, { exclude: ['sim-small'] });
    const refusal = await sendAuto(text, { tools, ...withResult }, path);
    expect([refusal.status, refusal.json.error?.code]).toEqual([400, 'invalid_request']);
    expect(refusal.json.error?.details?.reason).toBe('tool_call_model_gone');
  });

  test('a stream names the model that answers, and the next turn keeps it', async () => {
    await switchOn();
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
    await setAuto('key', id, { dial: 0 });
    const next = await sendAuto(text, {}, path, { 'x-session-id': `of ${path}` });
    expect(await decisionOf(next.requestId)).toMatchObject({
      chosen: 'sim-small',
      session: { sticky: 'kept', source: 'named' },
    });
  });
});

describe('Unfamiliar requests', () => {
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
  const knownText = (at: number) =>
    `Describe the ${nouns[at % 10]} beside the ${nouns[(at * 7 + 3) % 10]} with care`;
  const foreignText = (at: number) => `Quelle heure est-il donc à Genève ce soir ${'oui '.repeat(at % 7)}`;
  const messageBody = (text: string) => ({ messages: [user(text)] });

  test('go to the reference model, as does all traffic while most of it is unfamiliar', async () => {
    const organisations = app.database.source.getRepository(Organisation);
    const row = organisations.create({ name: 'drifting', slug: 'drifting' });
    await organisations.insert(row);
    for (let at = 0; at < 260; at += 1) {
      const outcomes = [createOutcome('sim-small', 0.9), createOutcome('sim-large', 0.9)];
      await learnExample(app, row.id, { id: `d${at}`, text: knownText(at), outcomes });
    }
    await app.application.get(StateMaintenance).store(row.id);
    await setAuto('organisation', row.id, { mode: 'on' });
    const { text } = await makeKey({ organisationId: row.id });
    const decisionFor = async (question: string) =>
      decisionOf((await sendAuto(text, messageBody(question))).requestId);
    expect(await decisionFor(knownText(1))).toMatchObject({ chosen: 'sim-small', drift: 'calm' });
    expect(await decisionFor(foreignText(0))).toMatchObject({
      reason: 'unfamiliar_request',
      chosen: 'sim-large',
      drift: 'calm',
    });
    for (let at = 0; at < 110; at += 1) await sendAuto(text, messageBody(foreignText(at)));
    expect(await decisionFor(knownText(2))).toMatchObject({
      reason: 'traffic_changed',
      chosen: 'sim-large',
      drift: 'reference',
    });
    let decision = await decisionFor(knownText(3));
    for (let at = 4; at < 300 && decision?.drift !== 'calm'; at += 1)
      decision = await decisionFor(knownText(at));
    expect(decision).toMatchObject({ chosen: 'sim-small', drift: 'calm' });
  });
});
