import { Organisation, UserAccount } from '#product/identity';
import { platformScope } from '#product/kernel';
import { KeysService } from '#product/keys';
import { AnswerFeedback } from '#product/quality';
import {
  AutoLearner,
  type AutoSettingsChange,
  AutoSettingsStore,
  StateMaintenance,
} from '#product/autorouter';
import { startTestApp, type TestApp } from '../../support/app';
import { learnExample, createOutcome } from '../../support/learning-examples';
import { addUser } from '../../support/users';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Simulator, startSimulator } from '../../support/simulator';
import { until } from '../../support/until';

interface TwoNodeDecision {
  readonly reason: string;
  readonly state_version: number;
  readonly session: { readonly sticky: string } | null;
  readonly candidates: readonly { readonly model: string; readonly fail: number }[];
}

let database: TestDatabase;
let simulator: Simulator;
let nearNode: TestApp;
let farNode: TestApp;
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
  nearNode = await startTestApp(node);
  farNode = await startTestApp(node);
  const organisations = nearNode.database.source.getRepository(Organisation);
  const row = organisations.create({ name: 'two', slug: 'two', billingExempt: true });
  await organisations.insert(row);
  organisationId = row.id;
  userId = await addUser(nearNode);
  await nearNode.database.source.getRepository(UserAccount).update(userId, { organisationId });
  const issuedKey = await nearNode.database.transaction((tx) =>
    nearNode.application.get(KeysService).issue(platformScope, tx, {
      kind: 'client',
      name: 'two',
      createdBy: 'test',
      userId,
      organisationId,
      departmentId: null,
      projectId: null,
    }),
  );
  key = issuedKey.text;
  await setAuto({ mode: 'on' });
});
afterAll(async () => {
  await farNode.close();
  await nearNode.close();
  await simulator.stop();
  await database.drop();
});

const setAuto = (change: AutoSettingsChange) =>
  nearNode.application.get(AutoSettingsStore).set({ level: 'organisation', id: organisationId }, change, {
    label: 'test',
    concerns: {},
    actor: { kind: 'system', label: 'test' },
  });
async function sendAuto(node: TestApp, body: object = {}, session = '') {
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
  const [row] = await node.database.query<{ auto_decision: TwoNodeDecision }>(
    'SELECT auto_decision FROM request_record WHERE request_id = $1',
    [requestId],
  );
  return { model, requestId, decision: row?.auto_decision };
}
const teachRouter = async (count: number, prefix: string, of: number | null) => {
  for (let at = 0; at < count; at += 1) {
    const outcomes = [createOutcome('sim-small', 0.9), createOutcome('sim-large', 0.9)];
    await learnExample(
      nearNode,
      organisationId,
      { id: `${prefix}${at}`, text: `Sort this list of ${at % 9} words`, outcomes },
      of,
    );
  }
};

test('examples learned on one node affect the other, and a deletion reaches both', async () => {
  expect((await sendAuto(farNode)).decision?.reason).toBe('still_learning');
  await teachRouter(260, 'theirs', userId);
  await until(async () => (await sendAuto(farNode)).decision?.state_version === 260);
  expect((await sendAuto(farNode)).model).toBe('sim-small');
  // A single example more is sent as a difference, without reading the state again.
  await teachRouter(1, 'more', null);
  await until(async () => (await sendAuto(farNode)).decision?.state_version === 261);

  await nearNode.application.get(StateMaintenance).store(organisationId);
  await nearNode.database.transaction((tx) => nearNode.application.get(AutoLearner).forgetUser(tx, userId));
  for (const node of [farNode, nearNode])
    await until(async () => (await sendAuto(node)).decision?.reason === 'still_learning');
  expect((await sendAuto(farNode)).model).toBe('sim-large');
  await teachRouter(260, 'again', null);
  for (const node of [farNode, nearNode])
    await until(async () => (await sendAuto(node)).model === 'sim-small');
});

test('a conversation keeps its model across nodes, and a tool result always reaches the model of its call', async () => {
  const tools = [{ name: 'sort', input_schema: { type: 'object' } }];
  expect((await sendAuto(nearNode, { tools }, 'both')).model).toBe('sim-small');
  await setAuto({ dial: 0 });
  expect((await sendAuto(farNode, {}, 'both')).decision?.session?.sticky).toBe('kept');
  await setAuto({ algorithm: 'static', stickiness: false });
  const messages = [
    { role: 'user', content: 'Sort this list' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'sort', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'done' }] },
  ];
  const result = await sendAuto(farNode, { tools, messages }, 'both');
  expect([result.model, result.decision?.reason]).toEqual(['sim-small', 'tool_result']);
  await until(async () => (await sendAuto(farNode)).decision?.reason === 'algorithm_static');
  await setAuto({ algorithm: 'hkb-v1', stickiness: true, dial: 5 });
});

test('feedback received by one node affects the decisions of the other', async () => {
  const predictedFailure = async () =>
    (await sendAuto(farNode)).decision?.candidates.find(({ model }) => model === 'sim-small')?.fail ?? 0;
  const failureBefore = await predictedFailure();
  const feedback = nearNode.application.get(AnswerFeedback, { strict: false });
  for (let at = 0; at < 5; at += 1) {
    const { requestId } = await sendAuto(nearNode);
    await feedback.give({ requestId, userId, organisationId, model: 'sim-small' }, 'down');
  }
  await until(async () => (await predictedFailure()) > failureBefore + 0.02);
});
