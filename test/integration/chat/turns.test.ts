import { sendRaw } from '../web/raw-exchange';
import { type ChatClient, eventsIn, messagesIn, type WebChatUser, textIn } from './chat-client';
import { anna, app, client, closeChatFixture, openChatFixture, supplier } from './chat-fixture';
import { until } from '../../support/until';

beforeAll(openChatFixture);
beforeEach(() => supplier.clearRequests());
afterEach(() => supplier.clearFaults());
afterAll(closeChatFixture);

const post: ChatClient['post'] = (...sent) => client.post(...sent);
const open: ChatClient['open'] = (...sent) => client.open(...sent);
const begin = (person: WebChatUser = anna, model?: string) => client.begin(person, model);

const recordsOf = (requestId: string) =>
  app.database.query<{
    surface: string;
    cost_nano: string;
    status: number;
    code: string | null;
    key_id: number;
  }>('SELECT surface, cost_nano::text, status, code, key_id FROM request_record WHERE request_id = $1', [
    requestId,
  ]);

describe('A turn', () => {
  test('with a non-streaming reply is recorded, charged and stored encrypted like an API request', async () => {
    const id = await begin();
    const { status, json } = await post(`/api/chat/${id}`, anna, { content: 'Hello [[echo=well met]]' });
    expect(status).toBe(200);
    expect(json.message).toMatchObject({ content: 'well met', state: 'complete', role: 'assistant' });
    expect(Number(json.message?.cost_usd)).toBeGreaterThan(0);
    const [kept] = await app.database.query<{ request_id: string; content: Buffer; cost_nano: string }>(
      `SELECT request_id, content, cost_nano::text FROM conversation_message
        WHERE conversation_id = $1 AND role = 'assistant'`,
      [id],
    );
    expect(kept!.content.includes('well met')).toBe(false);
    const [record] = await recordsOf(kept!.request_id);
    expect(record).toMatchObject({ surface: 'chat', status: 200, cost_nano: kept!.cost_nano });
    const page = (await open(`/dashboard/webchat/${id}`, anna)).body;
    expect(page).toContain('well met');
    expect(page).toContain('Hello [[echo');
    expect((await open('/dashboard/webchat', anna)).body).toContain(`/dashboard/webchat/${id}`);
  });

  test('with a streamed reply arrives in parts and ends with its cost', async () => {
    const id = await begin();
    const answer = await post(`/api/chat/${id}`, anna, {
      content: 'Hi [[echo=one two three]]',
      stream: true,
    });
    expect(answer.headers['content-type']).toContain('text/event-stream');
    const events = eventsIn(answer.body);
    expect(events.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['turn', 'route', 'text', 'end']),
    );
    expect(events[0]!.event).toBe('turn');
    expect(textIn(events)).toBe('one two three');
    const end = events.at(-1)!;
    expect(end).toMatchObject({ event: 'end', data: { state: 'complete' } });
    expect(end.data.output_tokens).toBeGreaterThan(0);
    expect(end.data.conversation_cost_usd).toBe(end.data.cost_usd);
    expect(end.data.shown?.facts.join(' ')).toMatch(/\d tokens \$0/);
  });

  test('includes the earlier messages and uses the conversation as session', async () => {
    const id = await begin();
    await post(`/api/chat/${id}`, anna, { content: 'First [[echo=alpha]]' });
    await post(`/api/chat/${id}`, anna, { content: 'Second [[echo=beta]]' });
    const requests = await supplier.requests();
    expect(messagesIn(requests)).toEqual([
      { role: 'user', content: 'First [[echo=alpha]]' },
      { role: 'assistant', content: 'alpha' },
      { role: 'user', content: 'Second [[echo=beta]]' },
    ]);
    const sessions = await app.database.query<{ session_key: string }>(
      'SELECT DISTINCT session_key FROM request_record WHERE session_key = $1',
      [`webchat-${id}`],
    );
    expect(sessions).toHaveLength(1);
  });

  test('sent twice with one id is executed once', async () => {
    const id = await begin();
    const turn = '0199d0a0-0000-4000-8000-000000000001';
    const firstReply = await post(`/api/chat/${id}`, anna, { content: 'Once', turn });
    const secondReply = await post(`/api/chat/${id}`, anna, { content: 'Once', turn });
    expect(secondReply.json.message).toMatchObject({
      id: firstReply.json.message?.id,
      content: firstReply.json.message?.content,
      cost_usd: firstReply.json.message?.cost_usd,
    });
    expect(await supplier.requests()).toHaveLength(1);
  });

  test('sent with a plain form redirects to the reply', async () => {
    const id = await begin();
    const answer = await sendRaw(app.url, {
      method: 'POST',
      path: `/api/chat/${id}`,
      headers: {
        cookie: anna.cookie,
        accept: 'text/html',
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
      },
      body: new URLSearchParams({
        content: 'Plain [[echo=no scripts]]',
        turn: '0199d0a0-0000-4000-8000-000000000002',
      }).toString(),
    });
    expect(answer.status).toBe(303);
    expect(answer.headers.location).toMatch(new RegExp(`^/dashboard/webchat/${id}#message-\\d+$`));
    expect((await open(`/dashboard/webchat/${id}`, anna)).body).toContain('no scripts');
  });

  test('sent first with a plain form creates the conversation and redirects to the reply', async () => {
    const submitForm = (fields: Record<string, string>) =>
      sendRaw(app.url, {
        method: 'POST',
        path: '/dashboard/webchat',
        headers: {
          cookie: anna.cookie,
          accept: 'text/html',
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': 'same-origin',
        },
        body: new URLSearchParams(fields).toString(),
      });
    const answer = await submitForm({ model: 'sim-large', content: 'At once [[echo=straight away]]' });
    expect(answer.status).toBe(303);
    const [, thread] = /^(\/dashboard\/webchat\/\d+)#message-\d+$/.exec(answer.headers.location ?? '') ?? [];
    const page = (await open(thread ?? '', anna)).body;
    expect(page).toContain('straight away');
    expect(page).toContain('sim-large');
    expect((await submitForm({ model: 'sim-large', content: '' })).status).toBe(422);
    expect((await submitForm({ model: 'no-such-model', content: 'Hello' })).status).toBe(403);
  });

  test('with an interrupted reply keeps its text and cost, and can be retried', async () => {
    const id = await begin();
    await supplier.addFault({ times: 1, fault: { kind: 'cut', after: 6 } });
    const answer = await post(`/api/chat/${id}`, anna, {
      content: 'Long [[tokens=40]] [[pace=0]]',
      stream: true,
    });
    const events = eventsIn(answer.body);
    expect(events.map(({ event }) => event)).toContain('error');
    const end = events.at(-1)!;
    expect(end.data).toMatchObject({ state: 'incomplete' });
    expect(textIn(events)).not.toBe('');
    expect(Number(end.data.cost_usd)).toBeGreaterThan(0);
    const page = (await open(`/dashboard/webchat/${id}`, anna)).body;
    expect(page).toContain('incomplete');
    expect(page).toContain('Ask again');
    const retryReply = await post(`/api/chat/${id}`, anna, { retry: true });
    expect(retryReply.json.message).toMatchObject({ state: 'complete' });
    expect(messagesIn(await supplier.requests())).toEqual([
      { role: 'user', content: 'Long [[tokens=40]] [[pace=0]]' },
    ]);
  });

  test('refused before the first word stays in the thread as an error', async () => {
    const id = await begin();
    await supplier.addFault({ times: 5, fault: { kind: 'status', status: 400 } });
    const answer = await post(`/api/chat/${id}`, anna, { content: 'Refused', stream: true });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.json.code).toBeDefined();
    expect((await open(`/dashboard/webchat/${id}`, anna)).body).toContain('No answer.');
  });

  test('is charged for the delivered text when the client disconnects', async () => {
    const id = await begin();
    const disconnect = new AbortController();
    await client.startStream(id, anna, 'Slow [[tokens=60]] [[pace=150]]', disconnect.signal);
    disconnect.abort();
    await supplier.waitForClosed(1, 'client-closed');
    const message = await settledMessage(id);
    expect(message).toMatchObject({ state: 'stopped' });
    expect(BigInt(message.cost_nano)).toBeGreaterThan(0n);
    const [record] = await recordsOf(message.request_id);
    expect(record).toMatchObject({ code: 'caller_left', cost_nano: message.cost_nano });
  });

  test('is stopped when its conversation is deleted', async () => {
    const id = await begin();
    const { rest } = await client.startStream(id, anna, 'Slow [[tokens=60]] [[pace=150]]');
    expect((await client.send('DELETE', `/api/conversations/${id}`, anna)).status).toBe(200);
    expect(eventsIn(await rest()).at(-1)).toMatchObject({ event: 'end', data: { state: 'stopped' } });
    expect((await open(`/dashboard/webchat/${id}`, anna)).status).toBe(404);
  });

  test('is refused while another reply is in progress', async () => {
    const id = await begin();
    const firstReply = post(`/api/chat/${id}`, anna, { content: 'Slow [[delay=2500]]' });
    await supplier.waitForRequests(1);
    expect(await post(`/api/chat/${id}`, anna, { content: 'Too soon' })).toMatchObject({
      status: 409,
      json: { code: 'conflict' },
    });
    expect((await firstReply).status).toBe(200);
  });

  async function settledMessage(id: number) {
    const readMessage = () =>
      app.database.query<{ state: string; cost_nano: string; request_id: string }>(
        `SELECT state, cost_nano::text, request_id FROM conversation_message
          WHERE conversation_id = $1 AND role = 'assistant' AND state <> 'open'`,
        [id],
      );
    await until(async () => (await readMessage()).length > 0);
    const [row] = await readMessage();
    if (row === undefined) throw new Error('the settled message is gone');
    return row;
  }
});

describe('A refused turn', () => {
  const germanHeaders = { 'accept-language': 'de' };

  test('returns a localised message for the page and the standard error for API clients', async () => {
    const reader = await client.createUser();
    await app.database.query(`UPDATE user_account SET preferred_language = 'de' WHERE id = $1`, [
      reader.userId,
    ]);
    const id = await begin(reader);
    const emptyResult = await client.send('POST', `/api/chat/${id}`, reader, { content: '' }, germanHeaders);
    expect(emptyResult.status).toBe(422);
    expect(JSON.parse(emptyResult.body)).toMatchObject({
      code: 'validation_error',
      detail: [{ loc: ['body', 'content'], type: 'missing' }],
      error: 'Write a message first.',
      human_message: 'Write a message first.',
      local_message: 'Es fehlt etwas Nötiges. Füllen Sie alle Felder aus, die es braucht.',
    });
    expect(emptyResult.headers['x-svc-message-id']).toBeUndefined();
    const picture = { name: 'x.png', type: 'image/png', data: 'iVBORw0KGgo=' };
    const textOnlyConversation = await begin(reader, 'sim-reason');
    const refusal = await client.send('POST', `/api/chat/${textOnlyConversation}`, reader, {
      content: 'Look',
      attachments: [picture],
    });
    expect(JSON.parse(refusal.body)).toMatchObject({
      local_message: 'sim-reason nimmt keine Bilder an. Wählen Sie ein Modell, das Bilder annimmt.',
    });
  });

  test('reports whether the message was stored before the refusal', async () => {
    const id = await begin();
    await supplier.addFault({ times: 5, fault: { kind: 'status', status: 400 } });
    const answer = await post(`/api/chat/${id}`, anna, { content: 'Hello', stream: true });
    expect(answer.headers['x-svc-message-id']).toMatch(/^\d+$/);
  });
});
