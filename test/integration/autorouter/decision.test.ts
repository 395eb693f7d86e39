import fc from 'fast-check';
import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import { Organisation, UserAccount } from '#product/identity';
import type { NewKey } from '../../../src/keys';
import { AutoLearner, type AutoSettingsChange, AutoStates } from '#product/autorouter';
import { signIn } from '../../support/people';
import { administer } from '../../support/postgres';
import { declareRegions } from '../../support/regions';
import { ask as exchange } from '../web/raw-exchange';
import { addCustomer } from '../../support/customer';
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
  userId,
} from './auto-house';

beforeAll(async () => {
  await openHouse();
  await declareRegions(app.database, 'elsewhere');
});
afterEach(tidyHouse);
afterAll(closeHouse);

test('until it is switched on the reference model answers, and the record says what would have', async () => {
  const { text } = await makeKey();
  const { status, json, requestId, headers } = await ask(text);
  expect([status, json.model]).toEqual([200, 'sim-large']);
  expect(headers.get('x-svc-auto')).toBe('sim-large; shadow_mode; 5');
  const named = await ask(text, { model: 'sim-large' });
  expect(named.headers.get('x-svc-auto')).toBeNull();
  expect(await decisionOf(requestId)).toMatchObject({
    mode: 'shadow',
    reason: 'shadow_mode',
    ref: 'sim-large',
    chosen: 'sim-large',
    would_have: 'sim-small',
  });
});

test.each(['/v1/messages', '/v1/chat/completions', '/v1/responses'])(
  'what was learned decides, and the answer names the model: %s',
  async (path) => {
    await set('organisation', organisationId, { mode: 'on' });
    const { text } = await makeKey();
    const { json, requestId, headers } = await ask(text, {}, path);
    expect(json.model).toBe('sim-small');
    const told = 'sim-small; similar_quality_cheaper; 5';
    expect(headers.get('x-svc-auto')).toBe(told);
    const question =
      path === '/v1/responses'
        ? { input: 'Sort this list' }
        : { max_tokens: 50, messages: [user('Sort this list')] };
    const streamed = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', stream: true, ...question }),
    });
    await streamed.text();
    expect(streamed.headers.get('x-svc-auto')).toBe(told);
    expect(await decisionOf(requestId)).toMatchObject({
      mode: 'on',
      reason: 'similar_quality_cheaper',
      ref: 'sim-large',
      chosen: 'sim-small',
      excluded: { on_trial: 2 },
    });
  },
);

test('the request log tells why', async () => {
  await set('organisation', organisationId, { mode: 'on' });
  const { text } = await makeKey();
  const { requestId } = await ask(text);
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

test('a request that names its model has no decision, and asks the database nothing for one', async () => {
  const { text } = await makeKey();
  const asked = jest.spyOn(app.database.source, 'query');
  const touched = () => asked.mock.calls.filter(([sql]) => /autorouter|engine_setting/.test(sql)).length;
  const named: { readonly requestId: string | null; readonly touches: number }[] = [];
  for (let round = 0; round < 5; round += 1) {
    asked.mockClear();
    const { requestId } = await ask(text, { model: 'sim-small' });
    named.push({ requestId, touches: touched() });
  }
  // The service looks at its settings now and then; what a request asks for, each of them would.
  expect(Math.min(...named.map(({ touches }) => touches))).toBe(0);
  asked.mockClear();
  await ask(text);
  expect(touched()).toBeGreaterThan(0);
  asked.mockRestore();
  expect(await Promise.all(named.map(({ requestId }) => decisionOf(requestId)))).toEqual(
    named.map(() => null),
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
])('candidates end at %s', async (_name, fields, settings, body, excluded) => {
  const key = await makeKey(fields);
  await set('key', key.id, { mode: 'on', ...settings });
  const { json, requestId } = await ask(key.text, body);
  expect(json.model).toBe('sim-large');
  expect(await decisionOf(requestId)).toMatchObject({ reason: 'only_candidate', excluded });
});

test('regions fail closed, and the refusal counts why', async () => {
  const key = await makeKey({ allowedRegions: ['elsewhere'] });
  const { status, json } = await ask(key.text);
  expect([status, json.error?.code]).toEqual([503, 'sovereign_route_unavailable']);
  expect(json.error).toMatchObject({ retryable: false });
  expect(json.error?.details?.excluded).toEqual({ region: 4 });
});

test('a model without a price, a paused one and a closed one are none', async () => {
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
  const { requestId } = await ask(text);
  expect(await decisionOf(requestId)).toMatchObject({ excluded: { inactive: 1, no_access: 1, price: 1 } });
  await app.database.transaction(async (tx) => {
    await editor.setState(tx, 'unpriced', 'deleted');
    await editor.setState(tx, 'sim-8k', 'active');
    await editor.upsertModel(tx, { name: 'sim-reason', restricted: false });
  });
  await catalogue.reload();
});

test('near the end of a budget only what it pays for is a candidate', async () => {
  await set('organisation', organisationId, { mode: 'on', algorithm: 'static' });
  const key = await makeKey({ budget: { limit: 3_000_000n, period: 'daily' } });
  const body = { max_tokens: 1_000 };
  const { json, requestId } = await ask(key.text, body);
  expect(json.model).not.toBe('sim-large');
  const decision = await decisionOf(requestId);
  expect(decision?.excluded['budget']).toBeGreaterThanOrEqual(1);
  const broke = await makeKey({ budget: { limit: 1_000n, period: 'daily' } });
  const refusal = await ask(broke.text, body);
  expect(refusal.status).not.toBe(503);
  expect(refusal.json.error?.code).toMatch(/budget|limit/);
});

test('switched off, it says so, or the fallback model answers within the rights of the caller', async () => {
  await set('organisation', organisationId, { mode: 'off' });
  const { text } = await makeKey();
  const refusal = await ask(text);
  expect([refusal.status, refusal.json.error?.code]).toEqual([503, 'autorouter_unavailable']);
  expect(refusal.headers.get('retry-after')).not.toBeNull();
  await set('organisation', organisationId, { fallback_model: 'sim-8k' });
  const answer = await ask(text);
  expect(answer.json.model).toBe('sim-8k');
  expect(await decisionOf(answer.requestId)).toMatchObject({ reason: 'fallback', chosen: 'sim-8k' });
  const narrow = await makeKey({ allowedModels: ['sim-large'] });
  expect((await ask(narrow.text)).json.error?.code).toBe('model_not_allowed');
});

describe('a conversation', () => {
  const named = { 'x-session-id': 'conversation one' };
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'sort', input: {} }] };
  const result = {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'done' }],
  };
  const tools = [{ name: 'sort', input_schema: { type: 'object' } }];
  const withResult = { tools, messages: [user('Sort this list'), call, result] };

  test('keeps its model, named or guessed', async () => {
    await set('organisation', organisationId, { mode: 'on' });
    const { text, id } = await makeKey();
    const first = await ask(text, {}, '/v1/messages', named);
    expect(await decisionOf(first.requestId)).toMatchObject({ session: { sticky: 'new', source: 'named' } });
    // Alone it would not go to another model for so little.
    await set('key', id, { dial: 0, algorithm: 'hkb-v1' });
    const answer = { role: 'assistant', content: 'Sorted.' };
    const turns = { messages: [user('Sort this list'), answer, user('And again')] };
    const second = await ask(text, turns, '/v1/messages', named);
    expect(second.json.model).toBe('sim-small');
    expect(await decisionOf(second.requestId)).toMatchObject({
      session: { sticky: 'kept', source: 'named' },
    });
    const other = await makeKey();
    await ask(other.text);
    const guessed = await ask(other.text, turns);
    expect(await decisionOf(guessed.requestId)).toMatchObject({
      session: { sticky: 'kept', source: 'guessed' },
    });
    const foreign = await ask((await makeKey()).text, turns, '/v1/messages', named);
    expect(await decisionOf(foreign.requestId)).toMatchObject({ session: { sticky: 'new' } });
  });

  test('never has another model read the result of a tool call', async () => {
    await set('organisation', organisationId, { mode: 'on' });
    const { text, id } = await makeKey();
    expect((await ask(text, { tools }, '/v1/messages', named)).json.model).toBe('sim-small');
    await set('key', id, { algorithm: 'static', stickiness: false });
    const next = await ask(text, withResult, '/v1/messages', named);
    expect(next.json.model).toBe('sim-small');
    expect(await decisionOf(next.requestId)).toMatchObject({ reason: 'tool_result' });
    await simulator.addFault({ match: { model: 'sim-small' }, fault: { kind: 'status', status: 500 } });
    const failed = await ask(text, withResult, '/v1/messages', named);
    expect(failed.status).toBeGreaterThanOrEqual(500);
    await simulator.clearFaults();
    await set('key', id, { exclude: ['sim-small'] });
    const gone = await ask(text, withResult, '/v1/messages', named);
    expect([gone.status, gone.json.error?.code]).toEqual([400, 'invalid_request']);
    expect(gone.json.error?.details).toMatchObject({ reason: 'tool_call_model_gone' });
  });
});

test('another model steps in where the chosen one fails, and the record names both', async () => {
  await set('organisation', organisationId, { mode: 'on', exclude: ['sim-8k', 'sim-reason'] });
  const { text } = await makeKey();
  await simulator.addFault({
    times: 1,
    match: { model: 'sim-small' },
    fault: { kind: 'status', status: 500 },
  });
  const answer = await ask(text);
  expect([answer.status, answer.json.model]).toEqual([200, 'sim-large']);
  expect(answer.headers.get('x-svc-failover')).toBe('true');
  expect(answer.headers.get('x-svc-auto')).toMatch(/^sim-large; /);
  expect(await decisionOf(answer.requestId)).toMatchObject({ chosen: 'sim-small', answered_by: 'sim-large' });
});

test('failures of lanes are their health: what is believed of a model stays, in every organisation', async () => {
  const organisations = app.database.source.getRepository(Organisation);
  const other = organisations.create({ name: 'other', slug: 'other' });
  await organisations.insert(other);
  const { userId: stranger } = await addCustomer(app, 'stranger', 10n ** 12n);
  await app.database.source.getRepository(UserAccount).update(stranger, { organisationId: other.id });
  const theirs = (await makeKey({ userId: stranger })).text;
  await set('organisation', organisationId, { mode: 'on' });
  const ours = (await makeKey()).text;
  const believed = async (key: string) => {
    const decision = (await decisionOf((await ask(key)).requestId)) as unknown as {
      chosen: string;
      candidates: { model: string; q: number; fail: number }[];
    };
    const { q, fail } = decision.candidates.find(({ model }) => model === 'sim-small')!;
    return { chosen: decision.chosen, q, fail };
  };
  const keys = [ours, theirs];
  const before = [await believed(ours), await believed(theirs)];
  await simulator.addFault({
    times: 3,
    match: { model: 'sim-small' },
    fault: { kind: 'status', status: 500 },
  });
  for (let at = 0; at < 3; at += 1) {
    const answer = await ask(ours, { messages: [user(`Sort this list ${at}`)] });
    expect([answer.status, answer.json.model]).toEqual([200, 'sim-large']);
  }
  for (const [place, key] of keys.entries()) {
    const { fail, ...rest } = await believed(key);
    const { fail: earlier, ...same } = before[place]!;
    expect(rest).toEqual(same);
    // Its answers make it no likelier either.
    expect(fail).toBeLessThanOrEqual(earlier);
  }
});

test('no pick lies outside key, regions, budget, settings and what is asked, whatever they are', async () => {
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
      // Enough for all, for the cheaper ones, and for none.
      fc.constantFrom(null, 1_000_000n, 400_000n, 1_000n),
      async (allowed, include, exclude, algorithm, dial, isSchema, allowedRegions, limit) => {
        const budget = limit === null ? null : { limit, period: 'daily' as const };
        const key = await makeKey({ allowedModels: allowed, allowedRegions, budget });
        await set('key', key.id, { mode: 'on', algorithm, dial, include, exclude });
        const format = {
          response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
        };
        const { status, json } = await ask(key.text, isSchema ? format : {}, '/v1/chat/completions');
        const left = allowed.filter(
          (name) =>
            (include.length === 0 || include.includes(name)) &&
            !exclude.includes(name) &&
            !(isSchema && name === 'sim-8k'),
        );
        if (left.length === 0 || allowedRegions?.join() === 'elsewhere') {
          expect(json.error).toMatchObject({ retryable: false });
          expect(json.error?.code).toMatch(
            /^(invalid_request|unsupported_parameter|sovereign_route_unavailable)$/,
          );
          return;
        }
        if (status === 200) expect(left).toContain(json.model);
        // A refusal is one of the budget, and only where none of them fits into it.
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

test('while settings or what was learned cannot be read, the last settings and the reference model serve', async () => {
  await set('organisation', organisationId, { mode: 'on', algorithm: 'cheapest' });
  const key = await makeKey();
  expect((await ask(key.text)).json.model).toBe('sim-small');
  const organisations = app.database.source.getRepository(Organisation);
  const row = organisations.create({ name: 'unread', slug: 'unread' });
  await organisations.insert(row);
  const unread = await makeKey({ organisationId: row.id });
  const rename = (from: string, to: string): Promise<void> =>
    administer(app.environment['MIGRATION_DATABASE_URL'] ?? '', `ALTER TABLE ${from} RENAME TO ${to}`);
  await ask(unread.text, { model: 'sim-small' });
  await rename('engine_setting', 'settings_away');
  await rename('autorouter_state', 'state_away');
  await app.database.query(`SELECT pg_notify('auto_settings', 'test')`);
  const refusal = await ask(unread.text);
  expect([refusal.status, refusal.json.error?.code]).toEqual([503, 'autorouter_unavailable']);
  const stale = await ask(key.text);
  expect([stale.status, stale.json.model]).toEqual([200, 'sim-small']);
  await rename('settings_away', 'engine_setting');
  const { requestId, json } = await ask(unread.text);
  expect(json.model).toBe('sim-large');
  expect(await decisionOf(requestId)).toMatchObject({ fallback: 'state_unavailable', chosen: 'sim-large' });
  await rename('state_away', 'autorouter_state');
});

test('what was learned from a person goes with them: the reference model answers again', async () => {
  await set('organisation', organisationId, { mode: 'on' });
  const { text } = await makeKey();
  const before = await decisionOf((await ask(text)).requestId);
  expect(before).toMatchObject({ mode: 'on', reason: expect.not.stringMatching('still_learning') as string });
  await app.database.transaction((tx) => app.application.get(AutoLearner).forgetUser(tx, userId));
  const states = app.application.get(AutoStates);
  while ((await states.of(organisationId))?.models.size !== 0) await new Promise(setImmediate);
  const { json, requestId } = await ask(text);
  expect(json.model).toBe('sim-large');
  expect(await decisionOf(requestId)).toMatchObject({ reason: 'still_learning' });
});
