import { AutoSessions } from '#product/autorouter';
import {
  addRelays,
  app,
  ask,
  closeHouse,
  decisionOf,
  makeKey,
  openHouse,
  organisationId,
  relays,
  set,
  simulator,
  tidyHouse,
  user,
} from './auto-house';

const surfaces = ['/v1/messages', '/v1/chat/completions', '/v1/responses'] as const;
type Surface = (typeof surfaces)[number];
beforeAll(async () => {
  await openHouse();
  await addRelays();
});
afterEach(async () => {
  await tidyHouse();
  await app.database.query('DELETE FROM autorouter_session');
});
afterAll(closeHouse);

const question = 'Sort this list [[tool=sort]]';
const schema = { type: 'object' };
const toolsOf = (path: Surface): object[] => {
  if (path === '/v1/messages') return [{ name: 'sort', input_schema: schema }];
  if (path === '/v1/responses') return [{ type: 'function', name: 'sort', parameters: schema }];
  return [{ type: 'function', function: { name: 'sort', parameters: schema } }];
};
const asked = (path: Surface, text = question): object => ({
  tools: toolsOf(path),
  ...(path === '/v1/responses' ? { input: [user(text)] } : { messages: [user(text)], max_tokens: 200 }),
});
/** The result of a call with that id. Another opening tells that no guess of the conversation led to its model. */
function result(path: Surface, id: string, opening = 'Another opening'): object {
  const tools = toolsOf(path);
  if (path === '/v1/messages') {
    const call = { type: 'tool_use', id, name: 'sort', input: {} };
    const done = { type: 'tool_result', tool_use_id: id, content: 'done' };
    const messages = [
      user(opening),
      { role: 'assistant', content: [call] },
      { role: 'user', content: [done] },
    ];
    return { tools, messages, max_tokens: 200 };
  }
  if (path === '/v1/responses') {
    const call = { type: 'function_call', call_id: id, name: 'sort', arguments: '{}' };
    const done = { type: 'function_call_output', call_id: id, output: 'done' };
    return { tools, input: [user(opening), call, done] };
  }
  const call = { id, type: 'function', function: { name: 'sort', arguments: '{}' } };
  const done = { role: 'tool', tool_call_id: id, content: 'done' };
  const messages = [user(opening), { role: 'assistant', tool_calls: [call] }, done];
  return { tools, messages, max_tokens: 200 };
}
const idIn = (answer: unknown): string => {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const [, id] = /"(?:call_id|id)":"((?:call|toolu)_\w+)"/.exec(text) ?? [];
  expect(id).toEqual(expect.any(String));
  return id ?? '';
};
const on = (more: object = {}) => set('organisation', organisationId, { mode: 'on', ...more });
/** From here on the large model would answer, were it free to. */
const preferLarge = (id: number) =>
  set('key', id, { algorithm: 'static', reference_model: 'sim-large', stickiness: false });
const picture = {
  type: 'image_url',
  image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' },
};

describe('conversations that share a field', () => {
  test.each([{ user: 'the app' }, { prompt_cache_key: 'the app' }])(
    'are not taken for one: %j',
    async (shared) => {
      const path = '/v1/chat/completions';
      await on();
      const { text } = await makeKey();
      const first = await ask(text, { ...asked(path), ...shared }, path);
      expect(first.json.model).toBe('sim-small');
      await on({ exclude: ['sim-small'] });
      const content = [picture, { type: 'text', text: 'What is it?' }];
      const other = await ask(text, { ...shared, messages: [{ role: 'user', content }] }, path);
      expect(other.json.model).not.toBe('sim-small');
      expect((await decisionOf(other.requestId))?.session).toBeNull();
      await on({ exclude: [] });
      const next = await ask(text, { ...result(path, idIn(first.json), question), ...shared }, path);
      expect(next.json.model).toBe('sim-small');
      expect(await decisionOf(next.requestId)).toMatchObject({ reason: 'tool_result' });
    },
  );

  test('or an opening have their results read by the models that called the tools', async () => {
    const path = '/v1/messages';
    await on();
    const { text } = await makeKey();
    const first = await ask(text, asked(path), path);
    expect(first.json.model).toBe('sim-small');
    await simulator.addFault({ match: { model: 'sim-small' }, fault: { kind: 'status', status: 500 } });
    const second = await ask(text, asked(path), path);
    expect([second.status, second.json.model === 'sim-small']).toEqual([200, false]);
    await simulator.clearFaults();
    for (const { json } of [first, second]) {
      const next = await ask(text, result(path, idIn(json), question), path);
      expect(next.json.model).toBe(json.model);
    }
  });
});

describe('a result is measured by the reference that its request would have without it', () => {
  test('though only the model that made the call may answer', async () => {
    await on();
    const { id, text } = await makeKey();
    const first = await ask(text, asked('/v1/messages'));
    expect(first.json.model).toBe('sim-small');
    await preferLarge(id);
    const next = await ask(text, result('/v1/messages', idIn(first.json)));
    const decision = await decisionOf(next.requestId);
    expect(decision).toMatchObject({ chosen: 'sim-small', ref: 'sim-large', reason: 'tool_result' });
    expect(decision?.candidates?.map(({ model }) => model).sort()).toEqual(['sim-large', 'sim-small']);
    expect(decision?.cost_ratio).toBeLessThan(1);
  });

  test('that model can do what is asked', async () => {
    await on();
    const { id, text } = await makeKey();
    const first = await ask(text, asked('/v1/messages'));
    // It is asked in another dialect alone, which has no such tool.
    await set('key', id, { algorithm: 'static', reference_model: 'relay-chat', stickiness: false });
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 1 };
    const tools = [...toolsOf('/v1/messages'), search];
    const free = await decisionOf((await ask(text, { ...asked('/v1/messages'), tools })).requestId);
    expect(free?.ref).not.toBe('relay-chat');
    const next = await ask(text, { ...result('/v1/messages', idIn(first.json)), tools });
    const decision = await decisionOf(next.requestId);
    expect(decision).toMatchObject({ chosen: 'sim-small', ref: free?.ref, reason: 'tool_result' });
  });
});

describe.each(surfaces)('on %s', (path) => {
  test.each(['sim-small', ...relays.map(({ name }) => name)])(
    'a call by %s is its own, whole or streamed, whatever the conversation looks like',
    async (model) => {
      const { text, id } = await makeKey();
      for (const stream of [false, true]) {
        await set('key', id, { mode: 'on', algorithm: 'static', reference_model: model });
        // Otherwise both would have calls of one id.
        const body = { model: 'auto', ...asked(path, `${question} ${stream}`), stream };
        const response = await fetch(`${app.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        const callId = idIn(await response.text());
        await preferLarge(id);
        const next = await ask(text, result(path, callId), path);
        expect(next.json.model).toBe(model);
        expect(await decisionOf(next.requestId)).toMatchObject({ reason: 'tool_result', chosen: model });
      }
    },
  );

  test('a result may come long after its conversation is forgotten', async () => {
    await on({ stickiness_minutes: 1 });
    const { text, id } = await makeKey();
    const first = await ask(text, asked(path), path);
    await app.database.query(
      `UPDATE autorouter_session SET expires_at = expires_at - interval '23 hours 59 minutes'`,
    );
    await preferLarge(id);
    const next = await ask(text, result(path, idIn(first.json), question), path);
    expect(next.json.model).toBe('sim-small');
  });

  test('where it is unknown who called the tool one model reads the result, and no second one on failure', async () => {
    await on();
    const { text } = await makeKey();
    const answered = await ask(text, result(path, 'call_of_another_service'), path);
    expect(answered.status).toBe(200);
    expect(await decisionOf(answered.requestId)).toMatchObject({
      reason: expect.not.stringMatching('tool_result') as string,
      fallback_order: [],
    });
    const { model } = answered.json;
    await simulator.addFault({ match: { model: model ?? '' }, fault: { kind: 'status', status: 500 } });
    const failed = await ask(text, result(path, 'call_of_yet_another', 'A third opening'), path);
    expect(failed.status).toBeGreaterThanOrEqual(500);
  });
});

test('an answer that the caller begins for the model does not hide the result before it', async () => {
  const path = '/v1/messages';
  await on();
  const { text, id } = await makeKey();
  const first = await ask(text, asked(path), path);
  await preferLarge(id);
  const { messages, ...rest } = result(path, idIn(first.json)) as { messages: object[] };
  const begun = { ...rest, messages: [...messages, { role: 'assistant', content: '{' }] };
  const next = await ask(text, begun, path);
  expect(next.json.model).toBe('sim-small');
  expect(await decisionOf(next.requestId)).toMatchObject({ reason: 'tool_result' });
  const over = [...messages, { role: 'assistant', content: 'Sorted.' }, user('Thank you')];
  const further = await ask(text, { ...rest, messages: over }, path);
  expect(await decisionOf(further.requestId)).toMatchObject({ reason: 'algorithm_static' });
});

describe('on /v1/responses', () => {
  const path = '/v1/responses';

  test.each([
    [
      { type: 'local_shell_call', call_id: 'call_1', action: { type: 'exec', command: ['ls'], env: {} } },
      { type: 'local_shell_call_output', call_id: 'call_1', output: 'done' },
    ],
    [
      { type: 'computer_call', call_id: 'call_1', action: { type: 'screenshot' }, pending_safety_checks: [] },
      { type: 'computer_call_output', call_id: 'call_1', output: { type: 'computer_screenshot' } },
    ],
    [
      { type: 'mcp_approval_request', id: 'call_1', name: 'sort', server_label: 'x', arguments: '{}' },
      { type: 'mcp_approval_response', approval_request_id: 'call_1', approve: true },
    ],
  ])('the result of a tool that only this dialect has is one: %j', async (call, output) => {
    await on();
    const { text, id } = await makeKey();
    await app.application.get(AutoSessions).called(id, 'sim-small', ['call_1']);
    await preferLarge(id);
    const input = [user('Sort this list'), { id: 'item_1', status: 'completed', ...call }, output];
    const { requestId } = await ask(text, { input }, path);
    const [row] = await app.database.query<{ model: string }>(
      'SELECT served_model AS model FROM request_record WHERE request_id = $1',
      [requestId],
    );
    expect(row?.model).toBe('sim-small');
  });

  test('a stored answer tells who made its calls, though its model was named', async () => {
    await on();
    const { text, id } = await makeKey();
    const first = await ask(text, { ...asked(path), model: 'sim-small' }, path);
    await preferLarge(id);
    const next = await ask(
      text,
      {
        instructions: 'Others than before',
        previous_response_id: (first.json as unknown as { id: string }).id,
        input: [{ type: 'function_call_output', call_id: idIn(first.json), output: 'done' }],
      },
      path,
    );
    expect(next.json.model).toBe('sim-small');
    expect(await decisionOf(next.requestId)).toMatchObject({ reason: 'tool_result' });
  });
});

test('an id that calls of several models have tells nothing', async () => {
  const sessions = app.application.get(AutoSessions);
  const { id } = await makeKey();
  await sessions.called(id, 'sim-small', ['call_0', 'call_1', 'call_0']);
  expect(await sessions.callerOf(id, ['call_0', 'call_1'])).toBe('sim-small');
  await sessions.called(id, 'sim-large', ['call_0']);
  expect(await sessions.callerOf(id, ['call_0'])).toBeNull();
  await sessions.called(id, 'sim-large', ['call_0']);
  expect(await sessions.callerOf(id, ['call_0', 'call_1'])).toBeNull();
  expect(await sessions.callerOf(id, ['call_1'])).toBe('sim-small');
  expect(await sessions.callerOf((await makeKey()).id, ['call_1'])).toBeNull();
});
