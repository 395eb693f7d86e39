import { UserAccount } from '#product/identity';
import { uuidv7 } from '#product/kernel';
import { AnswerFeedback } from '#product/quality';
import { startTestApp, type TestApp } from '../../support/app';
import { signIn } from '../../support/users';
import { startSimulator, type Simulator } from '../../support/simulator';
import { sendRaw } from '../web/raw-exchange';
import { addQualityFixture, addMember, askModel, type QualityFixture, setQuality } from './quality-fixture';
import { until } from '../../support/until';

let app: TestApp;
let simulator: Simulator;
let feedback: AnswerFeedback;
let fixture: QualityFixture;

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url });
  feedback = app.application.get(AnswerFeedback, { strict: false });
  fixture = await addQualityFixture(app, 'thumbs');
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

const createAnswer = (more: { userId?: number } = {}) => ({
  requestId: uuidv7(),
  userId: fixture.userId,
  organisationId: fixture.organisationId,
  model: 'sim-small',
  ...more,
});
const feedbackRow = async (requestId: string) => {
  const [row] = await app.database.query<{ verdict: string | null; retried_at: Date | null }>(
    'SELECT verdict, retried_at FROM answer_feedback WHERE request_id = $1',
    [requestId],
  );
  return row;
};

test('an answer has one rating, which can be changed and removed', async () => {
  const request = createAnswer();
  await feedback.give(request, 'up');
  await feedback.give(request, 'up');
  expect(await feedback.thumbsOf(fixture.userId, [request.requestId])).toEqual(
    new Map([[request.requestId, 'up']]),
  );
  await feedback.give(request, 'down');
  expect(await feedbackRow(request.requestId)).toEqual({ verdict: 'down', retried_at: null });
  await feedback.give(request, null);
  await feedback.give(request, null);
  expect(await feedbackRow(request.requestId)).toBeUndefined();
});

test('a repeated question within a minute is noted once and survives removal of the rating', async () => {
  const request = createAnswer();
  await feedback.recordRetry(request, new Date(Date.now() - 61_000));
  expect(await feedbackRow(request.requestId)).toBeUndefined();
  await feedback.recordRetry(request, new Date(Date.now() - 5_000));
  const { retried_at: first } = (await feedbackRow(request.requestId)) ?? {};
  expect(first).toBeInstanceOf(Date);
  await feedback.give(request, 'down');
  await feedback.recordRetry(request, new Date());
  expect(await feedbackRow(request.requestId)).toEqual({ verdict: 'down', retried_at: first });
  await feedback.give(request, null);
  expect(await feedbackRow(request.requestId)).toEqual({ verdict: null, retried_at: first });
});

describe('Rating on the request page', () => {
  const log = async (requestId: string, cookie: string): Promise<string> =>
    (
      await sendRaw(app.url, {
        path: `/dashboard/request-log?request_id=${requestId}&open=${requestId}`,
        headers: { cookie, accept: 'text/html' },
      })
    ).body;
  const submitRating = async (requestId: string, verdict: string, cookie: string, form = false) =>
    sendRaw(app.url, {
      method: 'POST',
      path: '/dashboard/request-log/feedback',
      headers: {
        cookie,
        accept: form ? 'text/html' : 'application/json',
        'sec-fetch-site': 'same-origin',
        'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
      },
      body: form
        ? `request_id=${requestId}&verdict=${verdict}`
        : JSON.stringify({ request_id: requestId, verdict }),
    });

  test('is offered for own answers when the user can read reports', async () => {
    const cookie = await signIn(app, fixture.userId);
    const messages = [{ role: 'user', content: 'Hello' }];
    const answer = await askModel(app, fixture.key, { model: 'auto', messages });
    const requestId = answer.headers.get('x-request-id') ?? '';
    await until(async () => (await log(requestId, cookie)).includes(requestId));
    expect(await log(requestId, cookie)).not.toContain('data-thumb');
    expect((await submitRating(requestId, 'up', cookie)).status).toBe(404);
    await setQuality(app, fixture.organisationId, { availability: 'everyone' });
    await until(async () => (await log(requestId, cookie)).includes('Was the answer good?'));
    expect((await submitRating(requestId, 'up', cookie)).status).toBe(200);
    expect(await log(requestId, cookie)).toMatch(/data-thumb="up" aria-pressed="true"/);
    const [row] = await app.database.query<{ model: string }>(
      'SELECT model FROM answer_feedback WHERE request_id = $1',
      [requestId],
    );
    // The model that auto chose, not `auto` itself.
    expect(row?.model).toMatch(/^sim-/);
    const form = await submitRating(requestId, 'none', cookie, true);
    expect([form.status, form.headers.location]).toEqual([
      303,
      `/dashboard/request-log?request_id=${requestId}&open=${requestId}`,
    ]);
    expect(await feedbackRow(requestId)).toBeUndefined();
    const otherCookie = await signIn(app, await addMember(app, fixture.organisationId));
    expect((await submitRating(requestId, 'down', otherCookie)).status).toBe(404);
    expect((await submitRating('no-id', 'down', cookie)).status).toBe(422);
  });
});

test("a user cannot change another user's rating, and erasing a user deletes their ratings", async () => {
  const request = createAnswer();
  await feedback.give(request, 'up');
  const otherUserId = await addMember(app, fixture.organisationId);
  await feedback.give({ ...request, userId: otherUserId }, 'down');
  await feedback.give({ ...request, userId: otherUserId }, null);
  await feedback.recordRetry({ ...request, userId: otherUserId }, new Date());
  expect(await feedbackRow(request.requestId)).toEqual({ verdict: 'up', retried_at: null });
  expect(await feedback.thumbsOf(otherUserId, [request.requestId])).toEqual(new Map());
  await app.database.source.getRepository(UserAccount).update(fixture.userId, { status: 'deleted' });
  expect(await feedbackRow(request.requestId)).toBeUndefined();
});
