import { AutoRetries } from '#inside/autorouter/choice/auto-retries';
import { monotonicMs } from '#product/kernel';
import { Notifications } from '#product/platform';
import { AnswerFeedback } from '#product/quality';
import { startTestApp, type TestApp } from '../../support/app';
import { administer } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import { addHouse, askModel, type House, setQuality } from './house';
import { until } from '../../support/until';

let app: TestApp;
let simulator: Simulator;
let house: House;
let feedback: AnswerFeedback;

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url, environment: { AUTO_MODEL: 'sim-small' } });
  house = await addHouse(app, 'signalled');
  await setQuality(app, house.organisationId, { availability: 'everyone', sampling_percent: 100 });
  feedback = app.application.get(AnswerFeedback, { strict: false });
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

let asked = 0;
const ask = async (who = house, text = `Sort the list number ${(asked += 1)}, please`) => {
  const answer = await askModel(app, who.key, { model: 'auto', messages: [{ role: 'user', content: text }] });
  expect(answer.status).toBe(200);
  await answer.text();
  return answer.headers.get('x-request-id') ?? '';
};
/** The next decision believes this of the model that always answers here. */
const failureOf = async (who = house): Promise<number> => {
  const [row] = await app.database.query<{
    auto_decision: { candidates: { model: string; fail: number }[] };
  }>('SELECT auto_decision FROM request_record WHERE request_id = $1', [await ask(who)]);
  return row?.auto_decision.candidates.find(({ model }) => model === 'sim-small')?.fail ?? NaN;
};
const answerOf = (requestId: string) => ({
  requestId,
  userId: house.userId,
  organisationId: house.organisationId,
  model: 'sim-small',
});
const retriesOf = (requestId: string) =>
  app.database.query<{ model: string }>(
    'SELECT model FROM answer_feedback WHERE request_id = $1 AND retried_at IS NOT NULL',
    [requestId],
  );

describe('a thumb', () => {
  test('down makes failures of the model likelier for its own organisation, and undone less likely again', async () => {
    const other = await addHouse(app, 'elsewhere');
    const ids = [await ask(), await ask(), await ask()];
    const calm = await failureOf();
    for (const id of ids) await feedback.give(answerOf(id), 'down');
    await until(async () => (await failureOf()) > calm + 0.05);
    expect(await failureOf(other)).toBeLessThan(calm + 0.01);
    for (const id of ids) await feedback.give(answerOf(id), null);
    await until(async () => (await failureOf()) < calm + 0.01);
  });
});

/** Questions are heard and answered so much later from now on. */
function later(milliseconds: number): void {
  ahead += milliseconds;
}
let ahead = 0;

describe('asking the same again within a minute', () => {
  beforeAll(() => {
    const retries = app.application.get(AutoRetries, { strict: false });
    const [begin, answered] = [retries.track.bind(retries), retries.answered.bind(retries)];
    jest.spyOn(retries, 'track').mockImplementation((call, view) => begin(call, view, monotonicMs() + ahead));
    jest
      .spyOn(retries, 'answered')
      .mockImplementation((question, model) => answered(question, model, monotonicMs() + ahead));
  });
  afterAll(() => jest.restoreAllMocks());

  test('counts against the answer, once: a third time is a machine', async () => {
    const first = await ask(house, 'How does one sort a list?');
    later(12_000);
    const second = await ask(house, 'how does one sort a list');
    later(12_000);
    const third = await ask(house, 'How does one sort  a list?!');
    await until(async () => (await retriesOf(first)).length === 1);
    expect(await retriesOf(first)).toEqual([{ model: 'sim-small' }]);
    await ask(house, 'How does one sort a linked list?');
    expect([await retriesOf(second), await retriesOf(third)]).toEqual([[], []]);
  });

  test('counts nothing within seconds, in which nobody has read the answer; nor what follows on it', async () => {
    const sent = [await ask(house, 'Which list is sorted?'), await ask(house, 'Which list is sorted?')];
    later(12_000);
    sent.push(await ask(house, 'Which list is sorted?'));
    // Of another question, asked again later, it is noted.
    const read = await ask(house, 'Which list is longest?');
    later(12_000);
    await ask(house, 'Which list is longest?');
    await until(async () => (await retriesOf(read)).length === 1);
    for (const one of sent) expect(await retriesOf(one)).toEqual([]);
  });

  test('said twice counts once, and a thumb on an older answer says nothing of today', async () => {
    const heard: string[] = [];
    const deaf = await app.application
      .get(Notifications, { strict: false })
      .on('auto_signal', (text) => heard.push(text));
    const [retried, old, last] = [await ask(), await ask(), await ask()];
    const owner = app.environment['MIGRATION_DATABASE_URL'] ?? '';
    const shift = (minutes: number) =>
      administer(
        owner,
        `UPDATE request_record SET created_at = created_at + interval '${minutes} minutes' WHERE request_id = '${old}'`,
      );
    await shift(-61);
    await feedback.give(answerOf(old), 'down');
    for (let at = 0; at < 3; at += 1) await feedback.recordRetry(answerOf(retried), new Date());
    for (const thumb of ['down', 'down', 'up', null, null] as const)
      await feedback.give(answerOf(last), thumb);
    await until(() => Promise.resolve(heard.length >= 4));
    deaf();
    // The books of the house are looked at when the tests end.
    await shift(61);
    const { organisationId: of } = house;
    // Failed and answered: asked again; down; up in its place; taken back.
    expect(heard).toEqual([
      `${of} 1 0 sim-small`,
      `${of} 1 0 sim-small`,
      `${of} -1 1 sim-small`,
      `${of} 0 -1 sim-small`,
    ]);
    expect(await retriesOf(retried)).toHaveLength(1);
  });

  test('is noted of nobody who did not opt in', async () => {
    const quiet = await addHouse(app, 'quiet');
    const first = await ask(quiet, 'Where does the river end?');
    // Of those who did, one that came later is there.
    const heard = await ask(house, 'Where does the valley end?');
    later(12_000);
    await ask(quiet, 'Where does the river end?');
    await ask(house, 'Where does the valley end?');
    await until(async () => (await retriesOf(heard)).length === 1);
    expect(await retriesOf(first)).toEqual([]);
  });
});
