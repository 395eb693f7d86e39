import { UserAccount } from '../../../src/identity';
import { uuidv7 } from '../../../src/kernel';
import { AnswerFeedback } from '../../../src/quality';
import { startTestApp, type TestApp } from '../../support/app';
import { addHouse, addMember, type House } from './house';

let app: TestApp;
let feedback: AnswerFeedback;
let house: House;

beforeAll(async () => {
  app = await startTestApp();
  feedback = app.application.get(AnswerFeedback, { strict: false });
  house = await addHouse(app, 'thumbs');
});
afterAll(() => app.close());

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
  await feedback.noteRetry(request, new Date(Date.now() - 61_000));
  expect(await rowOf(request.requestId)).toBeUndefined();
  await feedback.noteRetry(request, new Date(Date.now() - 5_000));
  const { retried_at: first } = (await rowOf(request.requestId)) ?? {};
  expect(first).toBeInstanceOf(Date);
  await feedback.give(request, 'down');
  await feedback.noteRetry(request, new Date());
  expect(await rowOf(request.requestId)).toEqual({ verdict: 'down', retried_at: first });
  await feedback.give(request, null);
  expect(await rowOf(request.requestId)).toEqual({ verdict: null, retried_at: first });
});

test('nobody changes what another person said, and who is erased leaves nothing', async () => {
  const request = answered();
  await feedback.give(request, 'up');
  const other = await addMember(app, house.organisationId);
  await feedback.give({ ...request, userId: other }, 'down');
  await feedback.give({ ...request, userId: other }, null);
  await feedback.noteRetry({ ...request, userId: other }, new Date());
  expect(await rowOf(request.requestId)).toEqual({ verdict: 'up', retried_at: null });
  expect(await feedback.thumbsOf(other, [request.requestId])).toEqual(new Map());
  await app.database.source.getRepository(UserAccount).update(house.userId, { status: 'deleted' });
  expect(await rowOf(request.requestId)).toBeUndefined();
});
