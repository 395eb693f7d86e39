import { UserAccount } from '#product/identity';
import { uuidv7 } from '#product/kernel';
import { AnswerFeedback } from '#product/quality';
import { startTestApp, type TestApp } from '../../support/app';
import { signIn } from '../../support/people';
import { startSimulator, type Simulator } from '../../support/simulator';
import { ask } from '../web/raw-exchange';
import { addHouse, addMember, askModel, type House, setQuality } from './house';
import { until } from '../../support/until';

let app: TestApp;
let simulator: Simulator;
let feedback: AnswerFeedback;
let house: House;

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url });
  feedback = app.application.get(AnswerFeedback, { strict: false });
  house = await addHouse(app, 'thumbs');
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

const answered = (more: { userId?: number } = {}) => ({
  requestId: uuidv7(),
  userId: house.userId,
  organisationId: house.organisationId,
  model: 'sim-small',
  ...more,
});
const rowOf = async (requestId: string) => {
  const [row] = await app.database.query<{ verdict: string | null; retried_at: Date | null }>(
    'SELECT verdict, retried_at FROM answer_feedback WHERE request_id = $1',
    [requestId],
  );
  return row;
};

test('there is one thumb an answer, which may be changed and taken back', async () => {
  const request = answered();
  await feedback.give(request, 'up');
  await feedback.give(request, 'up');
  expect(await feedback.thumbsOf(house.userId, [request.requestId])).toEqual(
    new Map([[request.requestId, 'up']]),
  );
  await feedback.give(request, 'down');
  expect(await rowOf(request.requestId)).toEqual({ verdict: 'down', retried_at: null });
  await feedback.give(request, null);
  await feedback.give(request, null);
  expect(await rowOf(request.requestId)).toBeUndefined();
});

test('a question asked again within a minute is noted once, and outlives the thumb', async () => {
  const request = answered();
  await feedback.recordRetry(request, new Date(Date.now() - 61_000));
  expect(await rowOf(request.requestId)).toBeUndefined();
  await feedback.recordRetry(request, new Date(Date.now() - 5_000));
  const { retried_at: first } = (await rowOf(request.requestId)) ?? {};
  expect(first).toBeInstanceOf(Date);
  await feedback.give(request, 'down');
  await feedback.recordRetry(request, new Date());
  expect(await rowOf(request.requestId)).toEqual({ verdict: 'down', retried_at: first });
  await feedback.give(request, null);
  expect(await rowOf(request.requestId)).toEqual({ verdict: null, retried_at: first });
});

describe('on the request’s detail', () => {
  const log = async (requestId: string, cookie: string): Promise<string> =>
    (
      await ask(app.url, {
        path: `/dashboard/request-log?request_id=${requestId}&open=${requestId}`,
        headers: { cookie, accept: 'text/html' },
      })
    ).body;
  const give = async (requestId: string, verdict: string, cookie: string, form = false) =>
    ask(app.url, {
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

  test('a thumb is offered for one’s own answers, where reports may be read', async () => {
    const cookie = await signIn(app, house.userId);
    const messages = [{ role: 'user', content: 'Hello' }];
    const answer = await askModel(app, house.key, { model: 'auto', messages });
    const requestId = answer.headers.get('x-request-id') ?? '';
    await until(async () => (await log(requestId, cookie)).includes(requestId));
    expect(await log(requestId, cookie)).not.toContain('data-thumb');
    expect((await give(requestId, 'up', cookie)).status).toBe(404);
    await setQuality(app, house.organisationId, { availability: 'everyone' });
    await until(async () => (await log(requestId, cookie)).includes('Was the answer good?'));
    expect((await give(requestId, 'up', cookie)).status).toBe(200);
    expect(await log(requestId, cookie)).toMatch(/data-thumb="up" aria-pressed="true"/);
    const [row] = await app.database.query<{ model: string }>(
      'SELECT model FROM answer_feedback WHERE request_id = $1',
      [requestId],
    );
    // The model that auto chose, not the word that was asked for.
    expect(row?.model).toMatch(/^sim-/);
    const form = await give(requestId, 'none', cookie, true);
    expect([form.status, form.headers.location]).toEqual([
      303,
      `/dashboard/request-log?request_id=${requestId}&open=${requestId}`,
    ]);
    expect(await rowOf(requestId)).toBeUndefined();
    const other = await signIn(app, await addMember(app, house.organisationId));
    expect((await give(requestId, 'down', other)).status).toBe(404);
    expect((await give('no-id', 'down', cookie)).status).toBe(422);
  });
});

test('nobody changes what another person said, and who is erased leaves nothing', async () => {
  const request = answered();
  await feedback.give(request, 'up');
  const other = await addMember(app, house.organisationId);
  await feedback.give({ ...request, userId: other }, 'down');
  await feedback.give({ ...request, userId: other }, null);
  await feedback.recordRetry({ ...request, userId: other }, new Date());
  expect(await rowOf(request.requestId)).toEqual({ verdict: 'up', retried_at: null });
  expect(await feedback.thumbsOf(other, [request.requestId])).toEqual(new Map());
  await app.database.source.getRepository(UserAccount).update(house.userId, { status: 'deleted' });
  expect(await rowOf(request.requestId)).toBeUndefined();
});
