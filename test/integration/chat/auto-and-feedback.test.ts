import { submitForm } from '../web/page-requests';
import { eventsIn } from './chat-client';
import { anna, app, client, closeChatFixture, openChatFixture } from './chat-fixture';
import { until } from '../../support/until';

beforeAll(openChatFixture);
afterAll(closeChatFixture);

const openThread = async (id: number, person = anna): Promise<string> =>
  (await client.open(`/dashboard/webchat/${id}`, person)).body;
const repliesIn = (id: number) =>
  app.database.query<{ id: string; request_id: string; model: string }>(
    `SELECT id::text, request_id, model FROM conversation_message
      WHERE conversation_id = $1 AND role = 'assistant' ORDER BY id`,
    [id],
  );
const feedbackOn = async (requestId: string) => {
  const [row] = await app.database.query<{ verdict: string | null; retried: boolean; model: string }>(
    'SELECT verdict, retried_at IS NOT NULL AS retried, model FROM answer_feedback WHERE request_id = $1',
    [requestId],
  );
  return row;
};

describe('auto in the chat', () => {
  test('is listed first but not preselected, and shows the model that answered and why', async () => {
    const start = (await client.open('/dashboard/webchat', anna)).body;
    expect(start).toMatch(
      /<option value="auto">auto · the service chooses<\/option><option value="sim-small"[^>]* selected/,
    );
    const id = await client.begin(anna, 'auto');
    const answer = await client.post(`/api/chat/${id}`, anna, { content: 'Hello there', stream: true });
    const shownReply = eventsIn(answer.body).at(-1)?.data.shown as unknown as {
      author: string;
      title: string;
    };
    expect(shownReply).toMatchObject({ author: 'sim-small', title: 'Hello there' });
    expect(await repliesIn(id)).toMatchObject([{ model: 'sim-small' }]);
    await until(async () => (await openThread(id)).includes('auto chose sim-small.'));
    const page = await openThread(id);
    // Nothing has been learned for a user without an organisation, so the page says that the reference model answered.
    expect(page).toMatch(/auto chose sim-small\. [A-Z][^<]+\./);
    expect(page).toMatch(/<option value="auto" selected>/);
    // The next conversation starts with the model used last.
    expect((await client.open('/dashboard/webchat', anna)).body).toMatch(/<option value="auto" selected>/);
  });

  test('is not listed for a user who switched it off', async () => {
    const user = await client.createUser();
    const settingsResult = await client.post('/dashboard/autorouter/user', user, { mode: 'off' });
    expect(settingsResult.status).toBe(200);
    expect((await client.open('/dashboard/webchat', user)).body).not.toContain('the service chooses');
    const refusal = await client.post('/api/conversations', user, { model: 'auto' });
    expect(refusal).toMatchObject({ status: 403, json: { code: 'model_not_accessible' } });
  });
});

describe('Rating of a reply', () => {
  const createReply = async (): Promise<{ id: number; message: string; requestId: string }> => {
    const id = await client.begin(anna);
    await client.post(`/api/chat/${id}`, anna, { content: 'Hello' });
    const [answer] = await repliesIn(id);
    return { id, message: answer?.id ?? '', requestId: answer?.request_id ?? '' };
  };

  test('can be given, changed and removed through the API and with plain forms', async () => {
    const { id, message, requestId } = await createReply();
    const path = `/api/chat/${id}/feedback`;
    const ratingResult = await client.post(path, anna, { message, verdict: 'up' });
    expect(ratingResult).toMatchObject({ status: 200, json: { message_id: message, verdict: 'up' } });
    expect(await feedbackOn(requestId)).toEqual({ verdict: 'up', retried: false, model: 'sim-small' });
    expect(await openThread(id)).toMatch(/value="none" data-thumb="up" aria-pressed="true"/);
    const sender = { url: app.url, cookie: anna.cookie };
    const form = await submitForm(sender, path, { message: String(message), verdict: 'down' });
    expect([form.status, form.headers.location]).toEqual([
      303,
      `/dashboard/webchat/${id}#message-${message}`,
    ]);
    expect(await openThread(id)).toMatch(/value="none" data-thumb="down" aria-pressed="true"/);
    await client.post(path, anna, { message, verdict: 'none' });
    expect(await feedbackOn(requestId)).toBeUndefined();
  });

  test('is limited to replies in own conversations', async () => {
    const { id, message } = await createReply();
    const otherUser = await client.createUser();
    const path = `/api/chat/${id}/feedback`;
    expect((await client.post(path, otherUser, { message, verdict: 'up' })).status).toBe(404);
    expect((await client.post(path, anna, { message: '999999999', verdict: 'up' })).status).toBe(404);
    const [question] = await app.database.query<{ id: string }>(
      `SELECT id::text FROM conversation_message WHERE conversation_id = $1 AND role = 'user'`,
      [id],
    );
    expect((await client.post(path, anna, { message: question?.id ?? '', verdict: 'up' })).status).toBe(404);
    expect((await client.post(path, anna, { message, verdict: 'sideways' })).status).toBe(422);
  });

  test('a repeated question counts against the first reply', async () => {
    const { id, requestId } = await createReply();
    await client.post(`/api/chat/${id}`, anna, { retry: true });
    expect(await feedbackOn(requestId)).toEqual({ verdict: null, retried: true, model: 'sim-small' });
    const [, second] = await repliesIn(id);
    expect(await feedbackOn(second?.request_id ?? '')).toBeUndefined();
  });
});

test('conversations are found by words of their titles, only among own ones', async () => {
  const bees = await client.begin(anna);
  await client.post(`/api/chat/${bees}`, anna, { content: 'How do bees find their way home?' });
  const id = await client.begin(anna);
  const longQuestion = 'Explain how tall ships were rigged in the nineteenth century and why';
  await client.post(`/api/chat/${id}`, anna, { content: longQuestion });
  const resultPage = (await client.open('/dashboard/webchat?q=WAY%20bees', anna)).body;
  expect(resultPage).toContain(`href="/dashboard/webchat/${bees}"`);
  expect(resultPage).not.toContain(`href="/dashboard/webchat/${id}"`);
  // Titles end with a complete word.
  expect((await client.open('/dashboard/webchat?q=ships', anna)).body).toContain(
    'Explain how tall ships were rigged in the nineteenth…',
  );
  expect((await client.open('/dashboard/webchat?q=zebra', anna)).body).toContain('No title contains');
  const otherUser = await client.createUser();
  expect((await client.open('/dashboard/webchat?q=bees', otherUser)).body).not.toContain(`webchat/${bees}"`);
});
