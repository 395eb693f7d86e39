import {
  addRelays,
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
  await addRelays();
});
afterEach(tidyHouse);
afterAll(closeHouse);

const prefer = (model: string) =>
  set('organisation', organisationId, { mode: 'on', algorithm: 'static', reference_model: model });

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
])('what asks for %s', (_what, path, relay, fields, alone) => {
  test('goes to a model that is asked in the words of the caller', async () => {
    await prefer(relay);
    const { text } = await makeKey({ allowedModels: [relay, 'sim-large', 'sim-small'] });
    expect((await ask(text, {}, path)).json.model).toBe(relay);
    const { status, json, requestId } = await ask(text, fields, path);
    expect([status, json.model]).toEqual([200, expect.not.stringMatching(relay)]);
    expect((await decisionOf(requestId))?.excluded['capability']).toBeGreaterThanOrEqual(1);
  });

  test('is answered as if the model were named, where there is no other', async () => {
    await prefer(relay);
    const { text } = await makeKey({ allowedModels: [relay] });
    const { status, json } = await ask(text, fields, path);
    expect(status).toBe(alone);
    if (alone === 400) expect(json.error?.code).toBe('unsupported_parameter');
  });
});

const thinking = { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 };

test('thinking that is asked for leads to a model that can, where there is one', async () => {
  await prefer('sim-8k');
  const { text } = await makeKey({ allowedModels: ['sim-8k', 'sim-reason'] });
  expect((await ask(text)).json.model).toBe('sim-8k');
  const thought = await ask(text, thinking);
  expect(thought.json.model).toBe('sim-reason');
  expect(await decisionOf(thought.requestId)).toMatchObject({ reason: 'only_candidate' });
  const switchedOff = await ask(text, { thinking: { type: 'disabled' } });
  expect(switchedOff.json.model).toBe('sim-8k');
  const alone = await makeKey({ allowedModels: ['relay-chat'] });
  expect((await ask(alone.text, thinking)).json.model).toBe('relay-chat');
});

test('what cannot be translated for the chosen model is asked of the next, and is no failure of the first', async () => {
  await prefer('relay-chat');
  await simulator.clearRequests();
  const { text } = await makeKey({ allowedModels: ['relay-chat', 'relay-messages'] });
  const content = [
    { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    { type: 'text', text: 'What does it say?' },
  ];
  const { status, json, requestId } = await ask(text, { messages: [{ role: 'user', content }] });
  expect([status, json.model]).toEqual([200, 'relay-messages']);
  expect(await decisionOf(requestId)).toMatchObject({ chosen: 'relay-chat', answered_by: 'relay-messages' });
  expect((await simulator.requests()).map(({ body }) => JSON.stringify(body)).join()).not.toContain(
    'relay-chat',
  );
  const further = await decisionOf((await ask(text, { messages: [user('Sort this list')] })).requestId);
  const doubted = further?.candidates?.filter((each) => Number(Reflect.get(each, 'fail')) > 0.02);
  expect(doubted).toEqual([]);
});
