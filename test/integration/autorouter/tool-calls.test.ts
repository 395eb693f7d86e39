import { AutoSessions } from '#product/autorouter';
import {
  addRelayModels,
  app,
  sendAuto,
  closeAutoFixture,
  decisionOf,
  makeKey,
  openAutoFixture,
  organisationId,
  relayModels,
  setAuto,
  simulator,
  resetAutoFixture,
  user,
} from './auto-fixture';

const apiPaths = ['/v1/messages', '/v1/chat/completions', '/v1/responses'] as const;
type ApiPath = (typeof apiPaths)[number];
beforeAll(async () => {
  await openAutoFixture();
  await addRelayModels();
});
afterEach(async () => {
  await resetAutoFixture();
  await app.database.query('DELETE FROM autorouter_session');
});
afterAll(closeAutoFixture);

const question = 'Sort this list [[tool=sort]]';
const schema = { type: 'object' };
const toolsOf = (path: ApiPath): object[] => {
  if (path === '/v1/messages') return [{ name: 'sort', input_schema: schema }];
  if (path === '/v1/responses') return [{ type: 'function', name: 'sort', parameters: schema }];
  return [{ type: 'function', function: { name: 'sort', parameters: schema } }];
};
const toolRequest = (path: ApiPath, text = question): object => ({
  tools: toolsOf(path),
  ...(path === '/v1/responses' ? { input: [user(text)] } : { messages: [user(text)], max_tokens: 200 }),
});
/** A request with the result of a call; another opening ensures that no derived session matches. */
function resultRequest(path: ApiPath, id: string, opening = 'Another opening'): object {
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
const switchOn = (more: object = {}) => setAuto('organisation', organisationId, { mode: 'on', ...more });
/** Makes the large model the preferred answer from now on. */
const preferLarge = (id: number) =>
  setAuto('key', id, { algorithm: 'static', reference_model: 'sim-large', stickiness: false });
const picture = {
  type: 'image_url',
  image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' },
};

describe('Conversations with a shared field', () => {
  test.each([{ user: 'the app' }, { prompt_cache_key: 'the app' }])(
    'are not treated as one: %j',
    async (shared) => {
      const path = '/v1/chat/completions';
      await switchOn();
      const { text } = await makeKey();
      const first = await sendAuto(text, { ...toolRequest(path), ...shared }, path);
      expect(first.json.model).toBe('sim-small');
      await switchOn({ exclude: ['sim-small'] });
      const content = [picture, { type: 'text', text: 'What is it?' }];
      const other = await sendAuto(text, { ...shared, messages: [{ role: 'user', content }] }, path);
      expect(other.json.model).not.toBe('sim-small');
      expect((await decisionOf(other.requestId))?.session).toBeNull();
      await switchOn({ exclude: [] });
      const next = await sendAuto(
        text,
        { ...resultRequest(path, idIn(first.json), question), ...shared },
        path,
      );
      expect(next.json.model).toBe('sim-small');
      expect(await decisionOf(next.requestId)).toMatchObject({ reason: 'tool_result' });
    },
  );

  test('are read by the models that made their tool calls', async () => {
    const path = '/v1/messages';
    await switchOn();
    const { text } = await makeKey();
    const first = await sendAuto(text, toolRequest(path), path);
    expect(first.json.model).toBe('sim-small');
    await simulator.addFault({ match: { model: 'sim-small' }, fault: { kind: 'status', status: 500 } });
    const second = await sendAuto(text, toolRequest(path), path);
    expect([second.status, second.json.model === 'sim-small']).toEqual([200, false]);
    await simulator.clearFaults();
    for (const { json } of [first, second]) {
      const next = await sendAuto(text, resultRequest(path, idIn(json), question), path);
      expect(next.json.model).toBe(json.model);
    }
  });
});

describe('The reference model for a tool result', () => {
  test('is chosen although only the model that made the call can answer', async () => {
    await switchOn();
    const { id, text } = await makeKey();
    const firstAnswer = await sendAuto(text, toolRequest('/v1/messages'));
    expect(firstAnswer.json.model).toBe('sim-small');
    await preferLarge(id);
    const next = await sendAuto(text, resultRequest('/v1/messages', idIn(firstAnswer.json)));
    const decision = await decisionOf(next.requestId);
    expect(decision).toMatchObject({ chosen: 'sim-small', ref: 'sim-large', reason: 'tool_result' });
    expect(decision?.candidates?.map(({ model }) => model).sort()).toEqual(['sim-large', 'sim-small']);
    expect(decision?.cost_ratio).toBeLessThan(1);
  });

  test('can do what the request needs', async () => {
    await switchOn();
    const { id, text } = await makeKey();
    const firstAnswer = await sendAuto(text, toolRequest('/v1/messages'));
    // Supports only another API format, which has no such tool.
    await setAuto('key', id, { algorithm: 'static', reference_model: 'relay-chat', stickiness: false });
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 1 };
    const tools = [...toolsOf('/v1/messages'), search];
    const freeDecision = await decisionOf(
      (await sendAuto(text, { ...toolRequest('/v1/messages'), tools })).requestId,
    );
    expect(freeDecision?.ref).not.toBe('relay-chat');
    const next = await sendAuto(text, { ...resultRequest('/v1/messages', idIn(firstAnswer.json)), tools });
    const decision = await decisionOf(next.requestId);
    expect(decision).toMatchObject({ chosen: 'sim-small', ref: freeDecision?.ref, reason: 'tool_result' });
  });
});

describe.each(apiPaths)('Tool results on %s', (path) => {
  test.each(['sim-small', ...relayModels.map(({ name }) => name)])(
    'a call by %s is matched by its id, in streaming and non-streaming mode',
    async (model) => {
      const { text, id } = await makeKey();
      for (const stream of [false, true]) {
        await setAuto('key', id, { mode: 'on', algorithm: 'static', reference_model: model });
        // Distinct texts, or both calls would get the same id.
        const body = { model: 'auto', ...toolRequest(path, `${question} ${stream}`), stream };
        const response = await fetch(`${app.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        const callId = idIn(await response.text());
        await preferLarge(id);
        const next = await sendAuto(text, resultRequest(path, callId), path);
        expect(next.json.model).toBe(model);
        expect(await decisionOf(next.requestId)).toMatchObject({ reason: 'tool_result', chosen: model });
      }
    },
  );

  test('a result is matched long after its session has expired', async () => {
    await switchOn({ stickiness_minutes: 1 });
    const { text, id } = await makeKey();
    const first = await sendAuto(text, toolRequest(path), path);
    await app.database.query(
      `UPDATE autorouter_session SET expires_at = expires_at - interval '23 hours 59 minutes'`,
    );
    await preferLarge(id);
    const next = await sendAuto(text, resultRequest(path, idIn(first.json), question), path);
    expect(next.json.model).toBe('sim-small');
  });

  test('a result of an unknown call is read by one model, without failover to a second', async () => {
    await switchOn();
    const { text } = await makeKey();
    const answer = await sendAuto(text, resultRequest(path, 'call_of_another_service'), path);
    expect(answer.status).toBe(200);
    expect(await decisionOf(answer.requestId)).toMatchObject({
      reason: expect.not.stringMatching('tool_result') as string,
      fallback_order: [],
    });
    const { model } = answer.json;
    await simulator.addFault({ match: { model: model ?? '' }, fault: { kind: 'status', status: 500 } });
    const failedAnswer = await sendAuto(
      text,
      resultRequest(path, 'call_of_yet_another', 'A third opening'),
      path,
    );
    expect(failedAnswer.status).toBeGreaterThanOrEqual(500);
  });
});

test('a prefilled assistant turn does not hide the tool result before it', async () => {
  const path = '/v1/messages';
  await switchOn();
  const { text, id } = await makeKey();
  const firstAnswer = await sendAuto(text, toolRequest(path), path);
  await preferLarge(id);
  const { messages, ...rest } = resultRequest(path, idIn(firstAnswer.json)) as { messages: object[] };
  const prefilledBody = { ...rest, messages: [...messages, { role: 'assistant', content: '{' }] };
  const next = await sendAuto(text, prefilledBody, path);
  expect(next.json.model).toBe('sim-small');
  expect(await decisionOf(next.requestId)).toMatchObject({ reason: 'tool_result' });
  const finishedMessages = [...messages, { role: 'assistant', content: 'Sorted.' }, user('Thank you')];
  const finishedAnswer = await sendAuto(text, { ...rest, messages: finishedMessages }, path);
  expect(await decisionOf(finishedAnswer.requestId)).toMatchObject({ reason: 'algorithm_static' });
});

describe('Responses API tool results', () => {
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
  ])('a result of a built-in tool counts as a tool result: %j', async (call, output) => {
    await switchOn();
    const { text, id } = await makeKey();
    await app.application.get(AutoSessions).called(id, 'sim-small', ['call_1']);
    await preferLarge(id);
    const input = [user('Sort this list'), { id: 'item_1', status: 'completed', ...call }, output];
    const { requestId } = await sendAuto(text, { input }, path);
    const [row] = await app.database.query<{ model: string }>(
      'SELECT served_model AS model FROM request_record WHERE request_id = $1',
      [requestId],
    );
    expect(row?.model).toBe('sim-small');
  });

  test('a stored response identifies the model of its calls, even if it was named explicitly', async () => {
    await switchOn();
    const { text, id } = await makeKey();
    const first = await sendAuto(text, { ...toolRequest(path), model: 'sim-small' }, path);
    await preferLarge(id);
    const next = await sendAuto(
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

test('an id used by calls of several models identifies none', async () => {
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
