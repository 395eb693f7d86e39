import { setTimeout as delay } from 'node:timers/promises';
import { Organisation } from '#product/identity';
import {
  AutoLearner,
  AutoSalts,
  AutoStates,
  type RouterState,
  StateMaintenance,
  storedState,
} from '#product/autorouter';
import { startTestApp, type TestApp } from '../../support/app';
import { createExample, learnExample, createOutcome } from '../../support/learning-examples';
import { addUser } from '../../support/users';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

let database: TestDatabase;
let app: TestApp;
let otherNode: TestApp;

beforeAll(async () => {
  database = await createTestDatabase();
  const node = {
    sharedDatabase: database,
    environment: { MASTER_KEY: 'master key of both nodes', KEY_PEPPER: 'pepper of both nodes' },
  };
  app = await startTestApp(node);
  otherNode = await startTestApp(node);
});
afterAll(async () => {
  await otherNode.close();
  await app.close();
  await database.drop();
});

let organisationCount = 0;
const organisation = async (): Promise<number> => {
  const slug = `state-${(organisationCount += 1)}`;
  const organisations = app.database.source.getRepository(Organisation);
  const row = organisations.create({ name: slug, slug });
  await organisations.insert(row);
  return row.id;
};
const stateOn = async (node: TestApp, organisationId: number): Promise<RouterState> => {
  const state = await node.application.get(AutoStates).of(organisationId);
  if (state === null) throw new Error('the state was not read in time');
  return state;
};
/** Waits until the node has applied an announcement; limited by the timeout of the test. */
const waitForState = async (node: TestApp, organisationId: number, is: (state: RouterState) => boolean) => {
  for (;;) {
    const state = await stateOn(node, organisationId);
    if (is(state)) return state;
    await delay(10);
  }
};
const judgedCount = (state: RouterState, model: string): number => state.models.get(model)?.judged ?? 0;

test('an example is learned once per model, even from concurrent calls, and reaches both nodes', async () => {
  const organisationId = await organisation();
  const example = {
    id: 'one',
    text: 'Sort a list',
    outcomes: [createOutcome('a', 0.9), createOutcome('b', 0.4)],
  };
  expect(judgedCount(await stateOn(otherNode, organisationId), 'a')).toBe(0);
  const learnResults = await Promise.all([
    learnExample(app, organisationId, example),
    learnExample(otherNode, organisationId, example),
    learnExample(app, organisationId, example),
  ]);
  expect(learnResults.filter(Boolean)).toHaveLength(1);
  expect(
    await learnExample(app, organisationId, {
      ...example,
      outcomes: [createOutcome('a', 0.1), createOutcome('c', 1)],
    }),
  ).toBe(true);
  for (const node of [app, otherNode]) {
    const state = await waitForState(node, organisationId, (each) => each.version === 2);
    expect([judgedCount(state, 'a'), judgedCount(state, 'b'), judgedCount(state, 'c')]).toEqual([1, 1, 1]);
    expect(state.memory.examples).toHaveLength(1);
  }
});

test('stored sums plus later examples produce the same state as learning everything', async () => {
  const organisationId = await organisation();
  for (let at = 0; at < 60; at += 1) {
    const outcomes = [createOutcome('a', (at % 7) / 7), createOutcome('b', (at % 3) / 3)];
    await learnExample(app, organisationId, {
      id: `e${at}`,
      text: `question ${at} of sorting words`,
      outcomes,
      at: 1e12 + at,
    });
    if (at === 40) await app.application.get(StateMaintenance).store(organisationId);
  }
  await learnExample(app, organisationId, {
    id: 'e1',
    text: 'later',
    outcomes: [createOutcome('c', 1)],
    at: 1e12 + 60,
  });
  const learnedState = await waitForState(app, organisationId, (state) => state.version === 61);
  const loadedState = await waitForState(otherNode, organisationId, (state) => state.version === 61);
  const sums = (state: RouterState) =>
    Object.entries(storedState(state).models).map(([model, { all }]) => [model, all]);
  expect(JSON.stringify(sums(loadedState))).toBe(JSON.stringify(sums(learnedState)));
  expect(loadedState.memory.examples.map(({ id }) => id).sort()).toEqual(
    learnedState.memory.examples.map(({ id }) => id).sort(),
  );
  expect(loadedState.memory.exampleOf('e1')?.outcomes.map(({ model }) => model)).toEqual(['a', 'b', 'c']);
});

test('deleting a user deletes what was learned from them on every node and keeps the rest', async () => {
  const organisationId = await organisation();
  const userId = await addUser(app);
  await learnExample(
    app,
    organisationId,
    { id: 'theirs', text: 'mine', outcomes: [createOutcome('a', 1)] },
    userId,
  );
  await learnExample(app, organisationId, {
    id: 'rest',
    text: 'other',
    outcomes: [createOutcome('a', 0), createOutcome('b', 1)],
  });
  await app.application.get(StateMaintenance).store(organisationId);
  await waitForState(otherNode, organisationId, (state) => judgedCount(state, 'a') === 2);
  await app.database.transaction((tx) => app.application.get(AutoLearner).forgetUser(tx, userId));
  for (const node of [app, otherNode]) {
    const state = await waitForState(node, organisationId, (each) => judgedCount(each, 'a') === 1);
    expect(state.memory.exampleOf('theirs')).toBeUndefined();
    expect(state.models.get('a')?.all.scored).toBe(0);
  }
  const [row] = await app.database.query<{ statistics: object | null }>(
    'SELECT statistics FROM autorouter_state WHERE organisation_id = $1',
    [organisationId],
  );
  expect(row?.statistics).toBeNull();
  await app.application.get(StateMaintenance).storeDue(new AbortController().signal);
  const [stored] = await app.database.query<{ version: string }>(
    'SELECT statistics_version AS version FROM autorouter_state WHERE organisation_id = $1',
    [organisationId],
  );
  expect(stored?.version).toBe('2');
});

test('deleting an organisation deletes its learned state and its salt', async () => {
  const organisationId = await organisation();
  await learnExample(app, organisationId, { id: 'one', text: 'x', outcomes: [createOutcome('a', 1)] });
  await waitForState(otherNode, organisationId, (state) => judgedCount(state, 'a') === 1);
  await app.database.query('DELETE FROM organisation WHERE id = $1', [organisationId]);
  await waitForState(otherNode, organisationId, (state) => judgedCount(state, 'a') === 0);
  const remainingSalts = await app.database.query(
    'SELECT 1 FROM autorouter_salt WHERE organisation_id = $1',
    [organisationId],
  );
  expect(remainingSalts).toEqual([]);
});

test('hashes differ between organisations, the salt is sealed, and no text is stored', async () => {
  const [ours, theirs] = [await organisation(), await organisation()];
  const example = { id: 'x', text: 'confidential merger with Oceanic', outcomes: [createOutcome('a', 1)] };
  const examples = await Promise.all([ours, theirs].map((id) => createExample(app, id, example)));
  expect([...(examples[0]?.hashes ?? [])]).not.toEqual([...(examples[1]?.hashes ?? [])]);
  const otherNodeExample = await createExample(otherNode, ours, example);
  expect([...otherNodeExample.hashes]).toEqual([...(examples[0]?.hashes ?? [])]);
  await learnExample(app, ours, example);
  const [row] = await app.database.query<{ text: string }>(
    'SELECT example::text AS text FROM autorouter_example WHERE organisation_id = $1',
    [ours],
  );
  expect(row?.text).not.toMatch(/confidential|merger|oceanic/i);
  const salt = await app.application.get(AutoSalts).of(ours);
  expect(salt.order).toHaveLength(1 << 15);
});
