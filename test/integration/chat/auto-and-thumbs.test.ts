import { submitForm } from '../web/from-page';
import { eventsIn } from './chat-client';
import { anna, app, client, closeHouse, openHouse } from './chat-house';
import { until } from '../../support/until';

beforeAll(openHouse);
afterAll(closeHouse);

const thread = async (id: number, person = anna): Promise<string> =>
  (await client.open(`/dashboard/webchat/${id}`, person)).body;
const answersOf = (id: number) =>
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
  test('is offered first, never taken unasked, and says who answered and why', async () => {
    const start = (await client.open('/dashboard/webchat', anna)).body;
    expect(start).toMatch(
      /<option value="auto">auto · the service chooses<\/option><option value="sim-small"[^>]* selected/,
    );
    const id = await client.begin(anna, 'auto');
    const answer = await client.post(`/api/chat/${id}`, anna, { content: 'Hello there', stream: true });
    const shown = eventsIn(answer.body).at(-1)?.data.shown as unknown as { author: string; title: string };
    expect(shown).toMatchObject({ author: 'sim-small', title: 'Hello there' });
    expect(await answersOf(id)).toMatchObject([{ model: 'sim-small' }]);
    await until(async () => (await thread(id)).includes('auto chose sim-small.'));
    const page = await thread(id);
    // Nothing was learned for a person without an organisation: the reference model answers, and that is said.
    expect(page).toMatch(/auto chose sim-small\. [A-Z][^<]+\./);
    expect(page).toMatch(/<option value="auto" selected>/);
    // The next conversation begins with what was used last.
    expect((await client.open('/dashboard/webchat', anna)).body).toMatch(/<option value="auto" selected>/);
  });

  test('is not there for a person for whom it is switched off', async () => {
    const person = await client.newPerson();
    const set = await client.post('/dashboard/autorouter/user', person, { mode: 'off' });
    expect(set.status).toBe(200);
    expect((await client.open('/dashboard/webchat', person)).body).not.toContain('the service chooses');
    const refused = await client.post('/api/conversations', person, { model: 'auto' });
    expect(refused).toMatchObject({ status: 403, json: { code: 'model_not_accessible' } });
  });
});

describe('a thumb', () => {
  const said = async (): Promise<{ id: number; message: string; requestId: string }> => {
    const id = await client.begin(anna);
    await client.post(`/api/chat/${id}`, anna, { content: 'Hello' });
    const [answer] = await answersOf(id);
    return { id, message: answer?.id ?? '', requestId: answer?.request_id ?? '' };
  };

  test('is given, changed and taken back, by programs and by forms without scripts', async () => {
    const { id, message, requestId } = await said();
    const path = `/api/chat/${id}/feedback`;
    const given = await client.post(path, anna, { message, verdict: 'up' });
    expect(given).toMatchObject({ status: 200, json: { message_id: message, verdict: 'up' } });
    expect(await feedbackOn(requestId)).toEqual({ verdict: 'up', retried: false, model: 'sim-small' });
    expect(await thread(id)).toMatch(/value="none" data-thumb="up" aria-pressed="true"/);
    const sender = { url: app.url, cookie: anna.cookie };
    const form = await submitForm(sender, path, { message: String(message), verdict: 'down' });
    expect([form.status, form.headers.location]).toEqual([
      303,
      `/dashboard/webchat/${id}#message-${message}`,
    ]);
    expect(await thread(id)).toMatch(/value="none" data-thumb="down" aria-pressed="true"/);
    await client.post(path, anna, { message, verdict: 'none' });
    expect(await feedbackOn(requestId)).toBeUndefined();
  });

  test('is for answers of one’s own conversations alone', async () => {
    const { id, message } = await said();
    const other = await client.newPerson();
    const path = `/api/chat/${id}/feedback`;
    expect((await client.post(path, other, { message, verdict: 'up' })).status).toBe(404);
    expect((await client.post(path, anna, { message: '999999999', verdict: 'up' })).status).toBe(404);
    const [question] = await app.database.query<{ id: string }>(
      `SELECT id::text FROM conversation_message WHERE conversation_id = $1 AND role = 'user'`,
      [id],
    );
    expect((await client.post(path, anna, { message: question?.id ?? '', verdict: 'up' })).status).toBe(404);
    expect((await client.post(path, anna, { message, verdict: 'sideways' })).status).toBe(422);
  });

  test('a question asked again at once speaks against its answer', async () => {
    const { id, requestId } = await said();
    await client.post(`/api/chat/${id}`, anna, { retry: true });
    expect(await feedbackOn(requestId)).toEqual({ verdict: null, retried: true, model: 'sim-small' });
    const [, second] = await answersOf(id);
    expect(await feedbackOn(second?.request_id ?? '')).toBeUndefined();
  });
});

test('conversations are found by words of their titles, one’s own alone', async () => {
  const bees = await client.begin(anna);
  await client.post(`/api/chat/${bees}`, anna, { content: 'How do bees find their way home?' });
  const id = await client.begin(anna);
  const long = 'Explain how tall ships were rigged in the nineteenth century and why';
  await client.post(`/api/chat/${id}`, anna, { content: long });
  const found = (await client.open('/dashboard/webchat?q=WAY%20bees', anna)).body;
  expect(found).toContain(`href="/dashboard/webchat/${bees}"`);
  expect(found).not.toContain(`href="/dashboard/webchat/${id}"`);
  // Titles end with a whole word.
  expect((await client.open('/dashboard/webchat?q=ships', anna)).body).toContain(
    'Explain how tall ships were rigged in the nineteenth…',
  );
  expect((await client.open('/dashboard/webchat?q=zebra', anna)).body).toContain('No title contains');
  const other = await client.newPerson();
  expect((await client.open('/dashboard/webchat?q=bees', other)).body).not.toContain(`webchat/${bees}"`);
});
