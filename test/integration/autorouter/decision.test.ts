import fc from 'fast-check';
import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import { Organisation, UserAccount } from '#product/identity';
import type { NewKey } from '../../../src/keys';
import { AutoLearner, type AutoSettingsChange, AutoStates } from '#product/autorouter';
import { signIn } from '../../support/users';
import { administer } from '../../support/postgres';
import { declareRegions } from '../../support/regions';
import { sendRaw as exchange } from '../web/raw-exchange';
import { addCustomer } from '../../support/customer';
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
  userId,
} from './auto-fixture';

beforeAll(async () => {
  await openAutoFixture();
  await declareRegions(app.database, 'elsewhere');
});
afterEach(resetAutoFixture);
afterAll(closeAutoFixture);

const failSmallModel = (times?: number): Promise<number> =>
  simulator.addFault({ times, match: { model: 'sim-small' }, fault: { kind: 'status', status: 500 } });

test('in shadow mode the reference model answers, and the record has the model that would have been chosen', async () => {
  const { text } = await makeKey();
  const { status, json, requestId, headers } = await sendAuto(text);
  expect([status, json.model]).toEqual([200, 'sim-large']);
  expect(headers.get('x-svc-auto')).toBe('sim-large; shadow_mode; 5');
  const namedModel = await sendAuto(text, { model: 'sim-large' });
  expect(namedModel.headers.get('x-svc-auto')).toBeNull();
  expect(await decisionOf(requestId)).toMatchObject({
    mode: 'shadow',
    reason: 'shadow_mode',
    ref: 'sim-large',
    chosen: 'sim-large',
    would_have: 'sim-small',
  });
});

test.each(['/v1/messages', '/v1/chat/completions', '/v1/responses'])(
  'learned quality decides, and the response names the model: %s',
  async (path) => {
    await setAuto('organisation', organisationId, { mode: 'on' });
    const { text } = await makeKey();
    const { json, requestId, headers } = await sendAuto(text, {}, path);
    expect(json.model).toBe('sim-small');
    const autoHeader = 'sim-small; similar_quality_cheaper; 5';
    expect(headers.get('x-svc-auto')).toBe(autoHeader);
    const question =
      path === '/v1/responses'
        ? { input: 'Sort this list' }
        : { max_tokens: 50, messages: [user('Sort this list')] };
    const streamedResponse = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', stream: true, ...question }),
    });
    await streamedResponse.text();
    expect(streamedResponse.headers.get('x-svc-auto')).toBe(autoHeader);
    expect(await decisionOf(requestId)).toMatchObject({
      mode: 'on',
      reason: 'similar_quality_cheaper',
      ref: 'sim-large',
      chosen: 'sim-small',
      excluded: { on_trial: 2 },
    });
  },
);

test('the request log explains the decision', async () => {
  await setAuto('organisation', organisationId, { mode: 'on' });
  const { text } = await makeKey();
  const { requestId } = await sendAuto(text);
  const { body } = await exchange(app.url, {
    path: `/dashboard/request-log?open=${requestId}`,
    headers: { cookie: await signIn(app, userId), accept: 'text/html' },
  });
  expect(body).toContain('It is about as good as the reference model, and cheaper.');
  expect(body).toMatch(/sim-small \d\.\d\d \(\d\.\d\d–\d\.\d\d\) \$0\.0000/);
  expect(body).toContain('on trial 2');
  expect(body).toMatch(/Usual cost of the reference model[\s\S]{0,200}\$0\.000/);
  expect(body).toMatch(/Next, should it fail[\s\S]{0,200}sim-/);
});

test('a request with a named model has no decision and runs no router query', async () => {
  const { text } = await makeKey();
  const querySpy = jest.spyOn(app.database.source, 'query');
  const countRouterQueries = () =>
    querySpy.mock.calls.filter(([sql]) => /autorouter|engine_setting/.test(sql)).length;
  const namedRequests: { readonly requestId: string | null; readonly touches: number }[] = [];
  for (let round = 0; round < 5; round += 1) {
    querySpy.mockClear();
    const { requestId } = await sendAuto(text, { model: 'sim-small' });
    namedRequests.push({ requestId, touches: countRouterQueries() });
  }
  // Settings are polled now and then; a query per request would show up in every round.
  expect(Math.min(...namedRequests.map(({ touches }) => touches))).toBe(0);
  querySpy.mockClear();
  await sendAuto(text);
  expect(countRouterQueries()).toBeGreaterThan(0);
  querySpy.mockRestore();
  expect(await Promise.all(namedRequests.map(({ requestId }) => decisionOf(requestId)))).toEqual(
    namedRequests.map(() => null),
  );
});

test.each<[string, Partial<NewKey>, AutoSettingsChange, object, Record<string, number>]>([
  ['the key', { allowedModels: ['sim-large'] }, {}, {}, { not_allowed: 3 }],
  ['a list of what to include', {}, { include: ['*-large'] }, {}, { not_included: 3 }],
  ['a list of what to exclude', {}, { exclude: ['sim-s*', 'sim-8k', 'sim-reason'] }, {}, { not_included: 3 }],
  [
    'pictures',
    { allowedModels: ['sim-large', 'sim-8k', 'sim-reason'] },
    {},
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
            { type: 'text', text: 'What is it?' },
          ],
        },
      ],
    },
    { not_allowed: 1, capability: 2 },
  ],
  [
    'a context that is too short',
    { allowedModels: ['sim-large', 'sim-8k'] },
    {},
    { max_tokens: 7_990, messages: [user('x '.repeat(200))] },
    { not_allowed: 2, context: 1 },
  ],
])('candidates are limited by %s', async (_name, fields, settings, body, excluded) => {
  const key = await makeKey(fields);
  await setAuto('key', key.id, { mode: 'on', ...settings });
  const { json, requestId } = await sendAuto(key.text, body);
  expect(json.model).toBe('sim-large');
  expect(await decisionOf(requestId)).toMatchObject({ reason: 'only_candidate', excluded });
});

test('a request without a lane in its regions is refused, with the number of excluded models per reason', async () => {
  const key = await makeKey({ allowedRegions: ['elsewhere'] });
  const { status, json } = await sendAuto(key.text);
  expect([status, json.error?.code]).toEqual([503, 'sovereign_route_unavailable']);
  expect(json.error).toMatchObject({ retryable: false });
  expect(json.error?.details?.excluded).toEqual({ region: 4 });
});

test('unpriced, paused and restricted models are not candidates', async () => {
  const { text } = await makeKey();
  const catalogue = app.application.get(CatalogueService);
  const editor = app.application.get(CatalogueEditor);
  const provider = catalogue.snapshot.providers[0]?.name ?? '';
  await app.database.transaction(async (tx) => {
    await editor.upsertModel(tx, { name: 'unpriced', kind: 'chat', ownedBy: 'test' });
    await editor.setLanes(tx, 'unpriced', [{ provider, upstreamModel: 'sim-small', region: 'local' }]);
    await editor.setState(tx, 'sim-8k', 'paused');
    await editor.upsertModel(tx, { name: 'sim-reason', restricted: true });
  });
  await catalogue.reload();
  const { requestId } = await sendAuto(text);
  expect(await decisionOf(requestId)).toMatchObject({ excluded: { inactive: 1, no_access: 1, price: 1 } });
  await app.database.transaction(async (tx) => {
    await editor.setState(tx, 'unpriced', 'deleted');
    await editor.setState(tx, 'sim-8k', 'active');
    await editor.upsertModel(tx, { name: 'sim-reason', restricted: false });
  });
  await catalogue.reload();
});

test('only affordable models are candidates near the end of a budget', async () => {
  await setAuto('organisation', organisationId, { mode: 'on', algorithm: 'static' });
  const key = await makeKey({ budget: { limit: 3_000_000n, period: 'daily' } });
  const body = { max_tokens: 1_000 };
  const { json, requestId } = await sendAuto(key.text, body);
  expect(json.model).not.toBe('sim-large');
  const decision = await decisionOf(requestId);
  expect(decision?.excluded['budget']).toBeGreaterThanOrEqual(1);
  const emptyBudgetKey = await makeKey({ budget: { limit: 1_000n, period: 'daily' } });
  const refusal = await sendAuto(emptyBudgetKey.text, body);
  expect(refusal.status).not.toBe(503);
  expect(refusal.json.error?.code).toMatch(/budget|limit/);
});

test('auto returns 503 when switched off, or uses the fallback model if the key is allowed to', async () => {
  await setAuto('organisation', organisationId, { mode: 'off' });
  const { text } = await makeKey();
  const refusal = await sendAuto(text);
  expect([refusal.status, refusal.json.error?.code]).toEqual([503, 'autorouter_unavailable']);
  expect(refusal.headers.get('retry-after')).not.toBeNull();
  await setAuto('organisation', organisationId, { fallback_model: 'sim-8k' });
  const answer = await sendAuto(text);
  expect(answer.json.model).toBe('sim-8k');
  expect(await decisionOf(answer.requestId)).toMatchObject({ reason: 'fallback', chosen: 'sim-8k' });
  const narrowKey = await makeKey({ allowedModels: ['sim-large'] });
  expect((await sendAuto(narrowKey.text)).json.error?.code).toBe('model_not_allowed');
});

describe('A conversation', () => {
  const sessionHeader = { 'x-session-id': 'conversation one' };
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'sort', input: {} }] };
  const result = {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'done' }],
  };
  const tools = [{ name: 'sort', input_schema: { type: 'object' } }];
  const withResult = { tools, messages: [user('Sort this list'), call, result] };

  test('keeps its model with a named or a derived session', async () => {
    await setAuto('organisation', organisationId, { mode: 'on' });
    const { text, id } = await makeKey();
    const first = await sendAuto(text, {}, '/v1/messages', sessionHeader);
    expect(await decisionOf(first.requestId)).toMatchObject({ session: { sticky: 'new', source: 'named' } });
    // Without a session, the router would choose the large model now.
    await setAuto('key', id, { dial: 0, algorithm: 'hkb-v1' });
    const answer = { role: 'assistant', content: 'Sorted.' };
    const turns = { messages: [user('Sort this list'), answer, user('And again')] };
    const second = await sendAuto(text, turns, '/v1/messages', sessionHeader);
    expect(second.json.model).toBe('sim-small');
    expect(await decisionOf(second.requestId)).toMatchObject({
      session: { sticky: 'kept', source: 'named' },
    });
    const otherKey = await makeKey();
    await sendAuto(otherKey.text);
    const derivedAnswer = await sendAuto(otherKey.text, turns);
    expect(await decisionOf(derivedAnswer.requestId)).toMatchObject({
      session: { sticky: 'kept', source: 'guessed' },
    });
    const otherKeyAnswer = await sendAuto((await makeKey()).text, turns, '/v1/messages', sessionHeader);
    expect(await decisionOf(otherKeyAnswer.requestId)).toMatchObject({ session: { sticky: 'new' } });
  });

  test('sends the result of a tool call only to the model that made the call', async () => {
    await setAuto('organisation', organisationId, { mode: 'on' });
    const { text, id } = await makeKey();
    expect((await sendAuto(text, { tools }, '/v1/messages', sessionHeader)).json.model).toBe('sim-small');
    await setAuto('key', id, { algorithm: 'static', stickiness: false });
    const next = await sendAuto(text, withResult, '/v1/messages', sessionHeader);
    expect(next.json.model).toBe('sim-small');
    expect(await decisionOf(next.requestId)).toMatchObject({ reason: 'tool_result' });
    await failSmallModel();
    const failedAnswer = await sendAuto(text, withResult, '/v1/messages', sessionHeader);
    expect(failedAnswer.status).toBeGreaterThanOrEqual(500);
    await simulator.clearFaults();
    await setAuto('key', id, { exclude: ['sim-small'] });
    const refusal = await sendAuto(text, withResult, '/v1/messages', sessionHeader);
    expect([refusal.status, refusal.json.error?.code]).toEqual([400, 'invalid_request']);
    expect(refusal.json.error?.details).toMatchObject({ reason: 'tool_call_model_gone' });
  });
});

test('another model answers when the chosen one fails, and the record names both', async () => {
  await setAuto('organisation', organisationId, { mode: 'on', exclude: ['sim-8k', 'sim-reason'] });
  const { text } = await makeKey();
  await failSmallModel(1);
  const answer = await sendAuto(text);
  expect([answer.status, answer.json.model]).toEqual([200, 'sim-large']);
  expect(answer.headers.get('x-svc-failover')).toBe('true');
  expect(answer.headers.get('x-svc-auto')).toMatch(/^sim-large; /);
  expect(await decisionOf(answer.requestId)).toMatchObject({ chosen: 'sim-small', answered_by: 'sim-large' });
});

test('lane failures do not change the predictions for a model in any organisation', async () => {
  const organisations = app.database.source.getRepository(Organisation);
  const other = organisations.create({ name: 'other', slug: 'other' });
  await organisations.insert(other);
  const { userId: stranger } = await addCustomer(app, 'stranger', 10n ** 12n);
  await app.database.source.getRepository(UserAccount).update(stranger, { organisationId: other.id });
  const otherKey = (await makeKey({ userId: stranger })).text;
  await setAuto('organisation', organisationId, { mode: 'on' });
  const ownKey = (await makeKey()).text;
  const predictionFor = async (key: string) => {
    const decision = (await decisionOf((await sendAuto(key)).requestId)) as unknown as {
      chosen: string;
      candidates: { model: string; q: number; fail: number }[];
    };
    const { q, fail } = decision.candidates.find(({ model }) => model === 'sim-small')!;
    return { chosen: decision.chosen, q, fail };
  };
  const keys = [ownKey, otherKey];
  const predictionsBefore = [await predictionFor(ownKey), await predictionFor(otherKey)];
  await failSmallModel(3);
  for (let at = 0; at < 3; at += 1) {
    const answer = await sendAuto(ownKey, { messages: [user(`Sort this list ${at}`)] });
    expect([answer.status, answer.json.model]).toEqual([200, 'sim-large']);
  }
  for (const [place, key] of keys.entries()) {
    const { fail, ...rest } = await predictionFor(key);
    const { fail: earlier, ...same } = predictionsBefore[place]!;
    expect(rest).toEqual(same);
    // Successful responses can only lower the predicted failure rate.
    expect(fail).toBeLessThanOrEqual(earlier);
  }
});

test('the chosen model always satisfies key, regions, budget, settings and request', async () => {
  const models = ['sim-small', 'sim-large', 'sim-reason', 'sim-8k'];
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(models, { minLength: 1 }),
      fc.subarray(models),
      fc.subarray(models, { maxLength: 2 }),
      fc.constantFrom('hkb-v1', 'static', 'cheapest', 'best_quality'),
      fc.integer({ min: 0, max: 10 }),
      fc.boolean(),
      fc.constantFrom<string[] | null>(null, ['local'], ['local', 'elsewhere'], ['elsewhere']),
      // Budgets that allow every model, only cheaper ones, or none.
      fc.constantFrom(null, 1_000_000n, 400_000n, 1_000n),
      async (allowed, include, exclude, algorithm, dial, isSchema, allowedRegions, limit) => {
        const budget = limit === null ? null : { limit, period: 'daily' as const };
        const key = await makeKey({ allowedModels: allowed, allowedRegions, budget });
        await setAuto('key', key.id, { mode: 'on', algorithm, dial, include, exclude });
        const format = {
          response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
        };
        const { status, json } = await sendAuto(key.text, isSchema ? format : {}, '/v1/chat/completions');
        const eligibleModels = allowed.filter(
          (name) =>
            (include.length === 0 || include.includes(name)) &&
            !exclude.includes(name) &&
            !(isSchema && name === 'sim-8k'),
        );
        if (eligibleModels.length === 0 || allowedRegions?.join() === 'elsewhere') {
          expect(json.error).toMatchObject({ retryable: false });
          expect(json.error?.code).toMatch(
            /^(invalid_request|unsupported_parameter|sovereign_route_unavailable)$/,
          );
          return;
        }
        if (status === 200) expect(eligibleModels).toContain(json.model);
        // The only valid refusal is the budget, when no allowed model fits into it.
        else
          expect([limit === null, json.error?.code.match(/budget|limit/) === null]).toEqual([false, false]);
        const [spent] = await app.database.query<{ cost: string }>(
          'SELECT coalesce(sum(cost_nano), 0)::text AS cost FROM request_record WHERE key_id = $1',
          [key.id],
        );
        expect(BigInt(spent?.cost ?? 0) <= (limit ?? 2n ** 63n)).toBe(true);
      },
    ),
    { numRuns: 40 },
  );
});

test('the last known settings and the reference model are used while settings or learned data are unreadable', async () => {
  await setAuto('organisation', organisationId, { mode: 'on', algorithm: 'cheapest' });
  const key = await makeKey();
  expect((await sendAuto(key.text)).json.model).toBe('sim-small');
  const organisations = app.database.source.getRepository(Organisation);
  const row = organisations.create({ name: 'unread', slug: 'unread' });
  await organisations.insert(row);
  const unreadKey = await makeKey({ organisationId: row.id });
  const renameTable = (from: string, to: string): Promise<void> =>
    administer(app.environment['MIGRATION_DATABASE_URL'] ?? '', `ALTER TABLE ${from} RENAME TO ${to}`);
  await sendAuto(unreadKey.text, { model: 'sim-small' });
  await renameTable('engine_setting', 'settings_away');
  await renameTable('autorouter_state', 'state_away');
  await app.database.query(`SELECT pg_notify('auto_settings', 'test')`);
  const refusal = await sendAuto(unreadKey.text);
  expect([refusal.status, refusal.json.error?.code]).toEqual([503, 'autorouter_unavailable']);
  const staleAnswer = await sendAuto(key.text);
  expect([staleAnswer.status, staleAnswer.json.model]).toEqual([200, 'sim-small']);
  await renameTable('settings_away', 'engine_setting');
  const { requestId, json } = await sendAuto(unreadKey.text);
  expect(json.model).toBe('sim-large');
  expect(await decisionOf(requestId)).toMatchObject({ fallback: 'state_unavailable', chosen: 'sim-large' });
  await renameTable('state_away', 'autorouter_state');
});

test('deleting a user deletes what was learned from them, and the reference model answers again', async () => {
  await setAuto('organisation', organisationId, { mode: 'on' });
  const { text } = await makeKey();
  const decisionBefore = await decisionOf((await sendAuto(text)).requestId);
  expect(decisionBefore).toMatchObject({
    mode: 'on',
    reason: expect.not.stringMatching('still_learning') as string,
  });
  await app.database.transaction((tx) => app.application.get(AutoLearner).forgetUser(tx, userId));
  const states = app.application.get(AutoStates);
  while ((await states.of(organisationId))?.models.size !== 0) await new Promise(setImmediate);
  const { json, requestId } = await sendAuto(text);
  expect(json.model).toBe('sim-large');
  expect(await decisionOf(requestId)).toMatchObject({ reason: 'still_learning' });
});
