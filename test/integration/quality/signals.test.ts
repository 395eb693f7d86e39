import { AutoRetries } from '#inside/autorouter/choice/auto-retries';
import { monotonicMs } from '#product/kernel';
import { Notifications } from '#product/platform';
import { AnswerFeedback } from '#product/quality';
import { startTestApp, type TestApp } from '../../support/app';
import { administer } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import { addQualityFixture, askModel, type QualityFixture, setQuality } from './quality-fixture';
import { until } from '../../support/until';

let app: TestApp;
let simulator: Simulator;
let fixture: QualityFixture;
let feedback: AnswerFeedback;

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url, environment: { AUTO_MODEL: 'sim-small' } });
  fixture = await addQualityFixture(app, 'signalled');
  await setQuality(app, fixture.organisationId, { availability: 'everyone', sampling_percent: 100 });
  feedback = app.application.get(AnswerFeedback, { strict: false });
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

let questionCount = 0;
const sendQuestion = async (who = fixture, text = `Sort the list number ${(questionCount += 1)}, please`) => {
  const answer = await askModel(app, who.key, { model: 'auto', messages: [{ role: 'user', content: text }] });
  expect(answer.status).toBe(200);
  await answer.text();
  return answer.headers.get('x-request-id') ?? '';
};
/** Failure probability that the next decision predicts for the model. */
const predictedFailure = async (who = fixture): Promise<number> => {
  const [row] = await app.database.query<{
    auto_decision: { candidates: { model: string; fail: number }[] };
  }>('SELECT auto_decision FROM request_record WHERE request_id = $1', [await sendQuestion(who)]);
  return row?.auto_decision.candidates.find(({ model }) => model === 'sim-small')?.fail ?? NaN;
};
const answerOf = (requestId: string) => ({
  requestId,
  userId: fixture.userId,
  organisationId: fixture.organisationId,
  model: 'sim-small',
});
const retriesOf = (requestId: string) =>
  app.database.query<{ model: string }>(
    'SELECT model FROM answer_feedback WHERE request_id = $1 AND retried_at IS NOT NULL',
    [requestId],
  );

describe('A rating', () => {
  test('of thumbs down raises the predicted failure in its own organisation, and removing it lowers it', async () => {
    const otherFixture = await addQualityFixture(app, 'elsewhere');
    const ids = [await sendQuestion(), await sendQuestion(), await sendQuestion()];
    const failureBefore = await predictedFailure();
    for (const id of ids) await feedback.give(answerOf(id), 'down');
    await until(async () => (await predictedFailure()) > failureBefore + 0.05);
    expect(await predictedFailure(otherFixture)).toBeLessThan(failureBefore + 0.01);
    for (const id of ids) await feedback.give(answerOf(id), null);
    await until(async () => (await predictedFailure()) < failureBefore + 0.01);
  });
});

/** Moves the clock of the retry detection forward. */
function advanceClock(milliseconds: number): void {
  clockOffsetMs += milliseconds;
}
let clockOffsetMs = 0;

describe('A repeated question within a minute', () => {
  beforeAll(() => {
    const retries = app.application.get(AutoRetries, { strict: false });
    const [begin, answered] = [retries.track.bind(retries), retries.answered.bind(retries)];
    jest
      .spyOn(retries, 'track')
      .mockImplementation((call, view) => begin(call, view, monotonicMs() + clockOffsetMs));
    jest
      .spyOn(retries, 'answered')
      .mockImplementation((question, model) => answered(question, model, monotonicMs() + clockOffsetMs));
  });
  afterAll(() => jest.restoreAllMocks());

  test('counts once against the answer, and a third repetition is ignored as automated', async () => {
    const firstId = await sendQuestion(fixture, 'How does one sort a list?');
    advanceClock(12_000);
    const secondId = await sendQuestion(fixture, 'how does one sort a list');
    advanceClock(12_000);
    const thirdId = await sendQuestion(fixture, 'How does one sort  a list?!');
    await until(async () => (await retriesOf(firstId)).length === 1);
    expect(await retriesOf(firstId)).toEqual([{ model: 'sim-small' }]);
    await sendQuestion(fixture, 'How does one sort a linked list?');
    expect([await retriesOf(secondId), await retriesOf(thirdId)]).toEqual([[], []]);
  });

  test('does not count within seconds, before the answer can have been read, nor in repetitions of it', async () => {
    const quickIds = [
      await sendQuestion(fixture, 'Which list is sorted?'),
      await sendQuestion(fixture, 'Which list is sorted?'),
    ];
    advanceClock(12_000);
    quickIds.push(await sendQuestion(fixture, 'Which list is sorted?'));
    // A repetition of another question after some time is counted.
    const readId = await sendQuestion(fixture, 'Which list is longest?');
    advanceClock(12_000);
    await sendQuestion(fixture, 'Which list is longest?');
    await until(async () => (await retriesOf(readId)).length === 1);
    for (const one of quickIds) expect(await retriesOf(one)).toEqual([]);
  });

  test('counts once when noted again, and a rating of an old answer has no effect', async () => {
    const signals: string[] = [];
    const stopListening = await app.application
      .get(Notifications, { strict: false })
      .on('auto_signal', (text) => signals.push(text));
    const [retried, old, last] = [await sendQuestion(), await sendQuestion(), await sendQuestion()];
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
    await until(() => Promise.resolve(signals.length >= 4));
    stopListening();
    // Restored, because the consistency check after the tests verifies this record.
    await shift(61);
    const { organisationId: of } = fixture;
    // Counts failed and answered: repeated question, thumbs down, changed to up, removed.
    expect(signals).toEqual([
      `${of} 1 0 sim-small`,
      `${of} 1 0 sim-small`,
      `${of} -1 1 sim-small`,
      `${of} 0 -1 sim-small`,
    ]);
    expect(await retriesOf(retried)).toHaveLength(1);
  });

  test('is not noted for an organisation that did not opt in', async () => {
    const quietFixture = await addQualityFixture(app, 'quiet');
    const firstId = await sendQuestion(quietFixture, 'Where does the river end?');
    // A later repetition in an organisation that opted in is noted.
    const notedId = await sendQuestion(fixture, 'Where does the valley end?');
    advanceClock(12_000);
    await sendQuestion(quietFixture, 'Where does the river end?');
    await sendQuestion(fixture, 'Where does the valley end?');
    await until(async () => (await retriesOf(notedId)).length === 1);
    expect(await retriesOf(firstId)).toEqual([]);
  });
});
