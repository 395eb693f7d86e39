import {
  addRelayModels,
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
  await addRelayModels();
});
afterEach(resetAutoFixture);
afterAll(closeAutoFixture);

const prefer = (model: string) =>
  setAuto('organisation', organisationId, { mode: 'on', algorithm: 'static', reference_model: model });

describe.each([
  [
    'a tool that only its dialect has',
    '/v1/messages',
    'relay-chat',
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    400,
  ],
  ['several answers at once', '/v1/chat/completions', 'relay-messages', { n: 2 }, 400],
  ['the supplier’s own tools', '/v1/responses', 'relay-messages', { tools: [{ type: 'web_search' }] }, 400],
])('A request that needs %s', (_what, path, relay, fields, alone) => {
  test('goes to a model that supports the API format of the caller', async () => {
    await prefer(relay);
    const { text } = await makeKey({ allowedModels: [relay, 'sim-large', 'sim-small'] });
    expect((await sendAuto(text, {}, path)).json.model).toBe(relay);
    const { status, json, requestId } = await sendAuto(text, fields, path);
    expect([status, json.model]).toEqual([200, expect.not.stringMatching(relay)]);
    expect((await decisionOf(requestId))?.excluded['capability']).toBeGreaterThanOrEqual(1);
  });

  test('is served as if the model were named when no other model is available', async () => {
    await prefer(relay);
    const { text } = await makeKey({ allowedModels: [relay] });
    const { status, json } = await sendAuto(text, fields, path);
    expect(status).toBe(alone);
    if (alone === 400) expect(json.error?.code).toBe('unsupported_parameter');
  });
});

const thinking = { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 };

test('a request for thinking goes to a model that supports it, if there is one', async () => {
  await prefer('sim-8k');
  const { text } = await makeKey({ allowedModels: ['sim-8k', 'sim-reason'] });
  expect((await sendAuto(text)).json.model).toBe('sim-8k');
  const thinkingAnswer = await sendAuto(text, thinking);
  expect(thinkingAnswer.json.model).toBe('sim-reason');
  expect(await decisionOf(thinkingAnswer.requestId)).toMatchObject({ reason: 'only_candidate' });
  const withoutThinking = await sendAuto(text, { thinking: { type: 'disabled' } });
  expect(withoutThinking.json.model).toBe('sim-8k');
  const relayKey = await makeKey({ allowedModels: ['relay-chat'] });
  expect((await sendAuto(relayKey.text, thinking)).json.model).toBe('relay-chat');
});

test('a request that cannot be converted goes to the next model without counting as a failure of the first', async () => {
  await prefer('relay-chat');
  await simulator.clearRequests();
  const { text } = await makeKey({ allowedModels: ['relay-chat', 'relay-messages'] });
  const content = [
    { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    { type: 'text', text: 'What does it say?' },
  ];
  const { status, json, requestId } = await sendAuto(text, { messages: [{ role: 'user', content }] });
  expect([status, json.model]).toEqual([200, 'relay-messages']);
  expect(await decisionOf(requestId)).toMatchObject({ chosen: 'relay-chat', answered_by: 'relay-messages' });
  expect((await simulator.requests()).map(({ body }) => JSON.stringify(body)).join()).not.toContain(
    'relay-chat',
  );
  const nextDecision = await decisionOf(
    (await sendAuto(text, { messages: [user('Sort this list')] })).requestId,
  );
  const unlikelyModels = nextDecision?.candidates?.filter((each) => Number(Reflect.get(each, 'fail')) > 0.02);
  expect(unlikelyModels).toEqual([]);
});
