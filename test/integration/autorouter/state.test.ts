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
import { exampleOf, learn, outcome } from '../../support/learned';
import { addUser } from '../../support/people';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

let database: TestDatabase;
let app: TestApp;
let other: TestApp;

beforeAll(async () => {
  database = await createTestDatabase();
  const node = {
    sharedDatabase: database,
    environment: { MASTER_KEY: 'master key of both nodes', KEY_PEPPER: 'pepper of both nodes' },
  };
  app = await startTestApp(node);
  other = await startTestApp(node);
});
afterAll(async () => {
  await other.close();
  await app.close();
  await database.drop();
});

let made = 0;
const organisation = async (): Promise<number> => {
  const slug = `state-${(made += 1)}`;
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
/** Waits for an announcement to be taken in; fails by the deadline of the test. */
const until = async (node: TestApp, organisationId: number, is: (state: RouterState) => boolean) => {
  for (;;) {
    const state = await stateOn(node, organisationId);
    if (is(state)) return state;
    await delay(10);
  }
};
const judged = (state: RouterState, model: string): number => state.models.get(model)?.judged ?? 0;

test('an example is learned once for each model, also by two at once, and both nodes know it', async () => {
  const organisationId = await organisation();
  const example = { id: 'one', text: 'Sort a list', outcomes: [outcome('a', 0.9), outcome('b', 0.4)] };
  expect(judged(await stateOn(other, organisationId), 'a')).toBe(0);
  const learned = await Promise.all([
    learn(app, organisationId, example),
    learn(other, organisationId, example),
    learn(app, organisationId, example),
  ]);
  expect(learned.filter(Boolean)).toHaveLength(1);
  expect(
    await learn(app, organisationId, { ...example, outcomes: [outcome('a', 0.1), outcome('c', 1)] }),
  ).toBe(true);
  for (const node of [app, other]) {
    const state = await until(node, organisationId, (each) => each.version === 2);
    expect([judged(state, 'a'), judged(state, 'b'), judged(state, 'c')]).toEqual([1, 1, 1]);
    expect(state.memory.examples).toHaveLength(1);
  }
});

test('stored sums, and what was learned after them, make the same state as learning everything', async () => {
  const organisationId = await organisation();
  for (let at = 0; at < 60; at += 1) {
    const outcomes = [outcome('a', (at % 7) / 7), outcome('b', (at % 3) / 3)];
    await learn(app, organisationId, {
      id: `e${at}`,
      text: `question ${at} of sorting words`,
      outcomes,
      at: 1e12 + at,
    });
    if (at === 40) await app.application.get(StateMaintenance).store(organisationId);
  }
  await learn(app, organisationId, { id: 'e1', text: 'later', outcomes: [outcome('c', 1)], at: 1e12 + 60 });
  const grown = await until(app, organisationId, (state) => state.version === 61);
  const read = await until(other, organisationId, (state) => state.version === 61);
  const sums = (state: RouterState) =>
    Object.entries(storedState(state).models).map(([model, { all }]) => [model, all]);
  expect(JSON.stringify(sums(read))).toBe(JSON.stringify(sums(grown)));
  expect(read.memory.examples.map(({ id }) => id).sort()).toEqual(
    grown.memory.examples.map(({ id }) => id).sort(),
  );
  expect(read.memory.exampleOf('e1')?.outcomes.map(({ model }) => model)).toEqual(['a', 'b', 'c']);
});

test('what was learned from a person goes with them, on every node, and the rest stays', async () => {
  const organisationId = await organisation();
  const userId = await addUser(app);
  await learn(app, organisationId, { id: 'theirs', text: 'mine', outcomes: [outcome('a', 1)] }, userId);
  await learn(app, organisationId, {
    id: 'rest',
    text: 'other',
    outcomes: [outcome('a', 0), outcome('b', 1)],
  });
  await app.application.get(StateMaintenance).store(organisationId);
  await until(other, organisationId, (state) => judged(state, 'a') === 2);
  await app.database.transaction((tx) => app.application.get(AutoLearner).forgetUser(tx, userId));
  for (const node of [app, other]) {
    const state = await until(node, organisationId, (each) => judged(each, 'a') === 1);
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

test('an organisation takes everything along', async () => {
  const organisationId = await organisation();
  await learn(app, organisationId, { id: 'one', text: 'x', outcomes: [outcome('a', 1)] });
  await until(other, organisationId, (state) => judged(state, 'a') === 1);
  await app.database.query('DELETE FROM organisation WHERE id = $1', [organisationId]);
  await until(other, organisationId, (state) => judged(state, 'a') === 0);
  const left = await app.database.query('SELECT 1 FROM autorouter_salt WHERE organisation_id = $1', [
    organisationId,
  ]);
  expect(left).toEqual([]);
});

test('hashes of two organisations are unlike, the salt is sealed, and no word is stored', async () => {
  const [ours, theirs] = [await organisation(), await organisation()];
  const asked = { id: 'x', text: 'confidential merger with Oceanic', outcomes: [outcome('a', 1)] };
  const examples = await Promise.all([ours, theirs].map((id) => exampleOf(app, id, asked)));
  expect([...(examples[0]?.hashes ?? [])]).not.toEqual([...(examples[1]?.hashes ?? [])]);
  const elsewhere = await exampleOf(other, ours, asked);
  expect([...elsewhere.hashes]).toEqual([...(examples[0]?.hashes ?? [])]);
  await learn(app, ours, asked);
  const [row] = await app.database.query<{ text: string }>(
    'SELECT example::text AS text FROM autorouter_example WHERE organisation_id = $1',
    [ours],
  );
  expect(row?.text).not.toMatch(/confidential|merger|oceanic/i);
  const made = await app.application.get(AutoSalts).of(ours);
  expect(made.order).toHaveLength(1 << 15);
});
