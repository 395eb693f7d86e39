import { EvaluationQueue } from '#inside/quality/loop/evaluation-queue';
import { startTestApp, type TestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';
import { until } from '../../support/until';
import { sendJson } from '../web/page-requests';
import {
  addQualityFixture,
  askModel,
  waitForEvaluation,
  type QualityFixture,
  sampleOf,
  setQuality,
  signInMember,
} from './quality-fixture';

let app: TestApp;
let simulator: Simulator;

const sampleEverything = { availability: 'everyone', sampling_percent: 100, sample_named: true } as const;
const rows = <Row>(sql: string, ...values: unknown[]) => app.database.query<Row>(sql, values);
const idOf = (answer: Response): string => answer.headers.get('x-request-id') ?? '';
const questionBody = (content: string, extra: object = {}) => ({
  model: 'sim-small',
  messages: [{ role: 'user', content }],
  ...extra,
});
const excludeKey = (keyId: number) =>
  rows(
    `INSERT INTO engine_setting (engine, key_id, settings) VALUES ('qualitative', $1, '{"excluded": true}')`,
    keyId,
  );
const storedAnswers = (requestId: string) =>
  rows('SELECT model FROM quality_score WHERE request_id = $1 AND content IS NOT NULL', requestId);
const evaluationCalls = (requestId: string) =>
  rows<{ model: string }>('SELECT model FROM evaluation_call WHERE request_id = $1', requestId);

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url });
});
afterEach(() => simulator.clearFaults());
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

async function createFixture(slug: string, settings: object = {}): Promise<QualityFixture> {
  const fixture = await addQualityFixture(app, slug);
  await setQuality(app, fixture.organisationId, { ...sampleEverything, ...settings });
  return fixture;
}

/** Sends a request, waits for its evaluation and returns its id; the texts stay stored. */
async function createStoredSample({ key }: QualityFixture): Promise<string> {
  const requestId = idOf(await askModel(app, key, questionBody('Solve the equation of the lighthouse.')));
  expect(await waitForEvaluation(app, requestId)).toMatchObject({
    state: 'learned',
    content: expect.any(Buffer),
  });
  return requestId;
}

/** Resets a sample to the given state, before its next step. */
async function resetSample(requestId: string, state: string): Promise<void> {
  await rows('UPDATE quality_sample SET state = $2 WHERE request_id = $1', requestId, state);
  if (state !== 'judged')
    await rows(
      'UPDATE quality_score SET verdict = NULL, score_total = NULL WHERE request_id = $1',
      requestId,
    );
  await rows('DELETE FROM autorouter_example WHERE example_id = $1', requestId);
}

async function runStep(requestId: string, state: string): Promise<void> {
  const queue = app.application.get(EvaluationQueue, { strict: false });
  if (state === 'waiting') await queue.replay(requestId, '.again');
  else if (state === 'replayed') await queue.judge(requestId, 'sim-small', 'sim-large', '.again');
  else await queue.learn(requestId, '.again');
}

const submitAsOwner = async ({ organisationId }: QualityFixture, form: object) =>
  sendJson(
    { url: app.url, cookie: await signInMember(app, organisationId, 'org_owner') },
    '/dashboard/qualitative/settings',
    form,
  );

describe.each(['waiting', 'replayed', 'judged'])('A sample in the state %s', (state) => {
  test.each([
    ['its organisation switched off', ({ organisationId }: QualityFixture) => switchOff(organisationId)],
    ['its key is excluded', ({ keyId }: QualityFixture) => excludeKey(keyId)],
  ])('is closed at its next step once %s', async (reason, withdraw) => {
    const fixture = await createFixture(`${state} ${reason}`.replaceAll(' ', '-'), {
      content_retention_days: 2,
    });
    const requestId = await createStoredSample(fixture);
    await resetSample(requestId, state);
    const callsBefore = await evaluationCalls(requestId);
    await withdraw(fixture);
    await runStep(requestId, state);
    expect(await waitForEvaluation(app, requestId)).toMatchObject({
      state: 'closed',
      closed_by: 'switched_off',
      content: null,
    });
    expect(await evaluationCalls(requestId)).toEqual(callsBefore);
    expect(await storedAnswers(requestId)).toEqual([]);
    expect(await rows('SELECT FROM autorouter_example WHERE example_id = $1', requestId)).toEqual([]);
  });

  test('is closed immediately when its organisation switches evaluation off', async () => {
    const fixture = await createFixture(`${state}-ends`, { content_retention_days: 2 });
    const requestId = await createStoredSample(fixture);
    await resetSample(requestId, state);
    expect((await submitAsOwner(fixture, { availability: 'off' })).status).toBe(200);
    expect(await sampleOf(app, requestId)).toMatchObject({ state: 'closed', closed_by: 'switched_off' });
    expect(await storedAnswers(requestId)).toEqual([]);
  });
});

const switchOff = (organisationId: number) => setQuality(app, organisationId, { availability: 'off' });

test('no further model is called after consent is withdrawn, and a pending answer is discarded', async () => {
  const fixture = await createFixture('under-way');
  await simulator.addFault({ match: { model: 'sim-8k' }, fault: { kind: 'delay', ms: 4_000 } });
  await simulator.addFault({ match: { model: 'sim-large' }, fault: { kind: 'delay', ms: 4_000 } });
  await simulator.addFault({ match: { model: 'sim-reason' }, fault: { kind: 'delay', ms: 4_000 } });
  const requestId = idOf(await askModel(app, fixture.key, questionBody('Solve the equation.')));
  await until(async () => (await evaluationCalls(requestId)).length > 0);
  expect((await submitAsOwner(fixture, { key_id: fixture.keyId, excluded: 'on' })).status).toBe(200);
  await until(async () => {
    const [open] = await rows<{ open: number }>(
      'SELECT count(*)::integer AS open FROM evaluation_call WHERE request_id = $1 AND cost_nano IS NULL',
      requestId,
    );
    return open?.open === 0;
  });
  // A later sample is complete, so the earlier step has ended.
  const laterFixture = await createFixture('under-way-later');
  await simulator.clearFaults();
  await waitForEvaluation(app, idOf(await askModel(app, laterFixture.key, questionBody('Solve it.'))));
  expect(await evaluationCalls(requestId)).toHaveLength(1);
  expect(await sampleOf(app, requestId)).toMatchObject({ state: 'closed', closed_by: 'switched_off' });
  expect(await storedAnswers(requestId)).toEqual([]);
});

test('a key excluded while its answer is streaming is not sampled', async () => {
  const fixture = await createFixture('long-answer');
  await simulator.addFault({ match: { model: 'sim-small' }, fault: { kind: 'pace', ms: 150 } });
  const answer = await askModel(app, fixture.key, questionBody('Solve it. [[tokens=30]]', { stream: true }));
  // Excluded after the response headers and before the end of the stream.
  await excludeKey(fixture.keyId);
  await answer.text();
  await simulator.clearFaults();
  const laterFixture = await createFixture('long-answer-later');
  await waitForEvaluation(app, idOf(await askModel(app, laterFixture.key, questionBody('Solve it.'))));
  expect(await sampleOf(app, idOf(answer))).toBeUndefined();
});

describe('Stored texts', () => {
  test('are deleted immediately when retention is set to zero', async () => {
    const fixture = await createFixture('keeps-nothing', { content_retention_days: 2 });
    const requestId = await createStoredSample(fixture);
    expect((await submitAsOwner(fixture, { content_retention_days: 0 })).status).toBe(200);
    expect(await sampleOf(app, requestId)).toMatchObject({ state: 'learned', content: null });
    expect(await storedAnswers(requestId)).toEqual([]);
  });

  test('are deleted when the organisation switches off evaluation or excludes their key', async () => {
    for (const [slug, form] of [
      ['keeps-off', () => ({ availability: 'off' })],
      ['keeps-excluded', ({ keyId }: QualityFixture) => ({ key_id: keyId, excluded: 'on' })],
    ] as const) {
      const fixture = await createFixture(slug, { content_retention_days: 2 });
      const requestId = await createStoredSample(fixture);
      expect((await submitAsOwner(fixture, form(fixture))).status).toBe(200);
      expect(await sampleOf(app, requestId)).toMatchObject({ state: 'learned', content: null });
      expect(await storedAnswers(requestId)).toEqual([]);
    }
  });

  test('are kept for the shorter period, and never longer than announced when they were stored', async () => {
    const fixture = await createFixture('keeps-shorter', { content_retention_days: 20 });
    const requestId = await createStoredSample(fixture);
    const daysLeft = async () =>
      (
        await rows<{ days: number }>(
          `SELECT round(extract(epoch FROM content_until - created_at) / 86400)::integer AS days
             FROM quality_sample WHERE request_id = $1`,
          requestId,
        )
      )[0]?.days;
    expect(await daysLeft()).toBe(20);
    await submitAsOwner(fixture, { content_retention_days: 3 });
    expect(await daysLeft()).toBe(3);
    await submitAsOwner(fixture, { content_retention_days: 30 });
    expect(await daysLeft()).toBe(3);
    expect(await sampleOf(app, requestId)).toMatchObject({ content: expect.any(Buffer) });
  });
});
