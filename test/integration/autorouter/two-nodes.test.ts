import { Organisation, UserAccount } from '#product/identity';
import { platformScope } from '#product/kernel';
import { KeysService } from '#product/keys';
import { AnswerFeedback } from '#product/quality';
import { AutoLearner, type AutoSettingsChange, AutoSettingsStore, StateMaintenance } from '#product/autorouter';
import { startTestApp, type TestApp } from '../../support/app';
import { learn, outcome } from '../../support/learned';
import { addUser } from '../../support/people';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Simulator, startSimulator } from '../../support/simulator';
import { until } from '../../support/until';

interface Decision {
  readonly reason: string;
  readonly state_version: number;
  readonly session: { readonly sticky: string } | null;
  readonly candidates: readonly { readonly model: string; readonly fail: number }[];
}

let database: TestDatabase;
let simulator: Simulator;
let near: TestApp;
let far: TestApp;
let organisationId: number;
let userId: number;
let key: string;

beforeAll(async () => {
  database = await createTestDatabase();
  simulator = await startSimulator();
  const node = {
    sandboxUrl: simulator.url,
    sharedDatabase: database,
    environment: {
      MASTER_KEY: 'master key of both nodes',
      KEY_PEPPER: 'pepper of both',
      AUTO_MODEL: 'sim-large',
    },
  };
  near = await startTestApp(node);
  far = await startTestApp(node);
  const organisations = near.database.source.getRepository(Organisation);
  const row = organisations.create({ name: 'two', slug: 'two', billingExempt: true });
  await organisations.insert(row);
  organisationId = row.id;
  userId = await addUser(near);
  await near.database.source.getRepository(UserAccount).update(userId, { organisationId });
  const issued = await near.database.transaction((tx) =>
    near.application.get(KeysService).issue(platformScope, tx, {
      kind: 'client',
      name: 'two',
      createdBy: 'test',
      userId,
      organisationId,
      departmentId: null,
      projectId: null,
    }),
  );
  key = issued.text;
  await set({ mode: 'on' });
});
afterAll(async () => {
  await far.close();
  await near.close();
  await simulator.stop();
  await database.drop();
});

const set = (change: AutoSettingsChange) =>
  near.application.get(AutoSettingsStore).set({ level: 'organisation', id: organisationId }, change, {
    label: 'test',
    concerns: {},
    actor: { kind: 'system', label: 'test' },
  });
async function ask(node: TestApp, body: object = {}, session = '') {
  const answer = await fetch(`${node.url}/v1/messages`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(session === '' ? {} : { 'x-session-id': session }),
    },
    body: JSON.stringify({
      model: 'auto',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'Sort this list' }],
      ...body,
    }),
  });
  const { model } = (await answer.json()) as { model?: string };
  const requestId = answer.headers.get('x-request-id') ?? '';
  const [row] = await node.database.query<{ auto_decision: Decision }>(
    'SELECT auto_decision FROM request_record WHERE request_id = $1',
    [requestId],
  );
  return { model, requestId, decision: row?.auto_decision };
}
const teach = async (count: number, prefix: string, of: number | null) => {
  for (let at = 0; at < count; at += 1) {
    const outcomes = [outcome('sim-small', 0.9), outcome('sim-large', 0.9)];
    await learn(
      near,
      organisationId,
      { id: `${prefix}${at}`, text: `Sort this list of ${at % 9} words`, outcomes },
      of,
    );
  }
};

test('what one node learns the other chooses by, and what is forgotten on one is forgotten on both', async () => {
  expect((await ask(far)).decision?.reason).toBe('still_learning');
  await teach(260, 'theirs', userId);
  await until(async () => (await ask(far)).decision?.state_version === 260);
  expect((await ask(far)).model).toBe('sim-small');
  // One more is a difference, not a state read anew.
  await teach(1, 'more', null);
  await until(async () => (await ask(far)).decision?.state_version === 261);

  await near.application.get(StateMaintenance).store(organisationId);
  await near.database.transaction((tx) => near.application.get(AutoLearner).forgetUser(tx, userId));
  for (const node of [far, near])
    await until(async () => (await ask(node)).decision?.reason === 'still_learning');
  expect((await ask(far)).model).toBe('sim-large');
  await teach(260, 'again', null);
  for (const node of [far, near]) await until(async () => (await ask(node)).model === 'sim-small');
});

test('a conversation keeps its model from node to node, a tool call and its result always', async () => {
  const tools = [{ name: 'sort', input_schema: { type: 'object' } }];
  expect((await ask(near, { tools }, 'both')).model).toBe('sim-small');
  await set({ dial: 0 });
  expect((await ask(far, {}, 'both')).decision?.session?.sticky).toBe('kept');
  await set({ algorithm: 'static', stickiness: false });
  const messages = [
    { role: 'user', content: 'Sort this list' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'sort', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'done' }] },
  ];
  const result = await ask(far, { tools, messages }, 'both');
  expect([result.model, result.decision?.reason]).toEqual(['sim-small', 'tool_result']);
  await until(async () => (await ask(far)).decision?.reason === 'algorithm_static');
  await set({ algorithm: 'hkb-v1', stickiness: true, dial: 5 });
});

test('a thumb that one node hears the other heeds', async () => {
  const failOf = async () =>
    (await ask(far)).decision?.candidates.find(({ model }) => model === 'sim-small')?.fail ?? 0;
  const before = await failOf();
  const feedback = near.application.get(AnswerFeedback, { strict: false });
  for (let at = 0; at < 5; at += 1) {
    const { requestId } = await ask(near);
    await feedback.give({ requestId, userId, organisationId, model: 'sim-small' }, 'down');
  }
  await until(async () => (await failOf()) > before + 0.02);
});
