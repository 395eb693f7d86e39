import { type ChatClient, eventsIn, messagesIn } from './chat-client';
import { anna, app, client, closeChatFixture, openChatFixture, supplier } from './chat-fixture';

beforeAll(openChatFixture);
beforeEach(() => supplier.clearRequests());
afterEach(() => supplier.clearFaults());
afterAll(closeChatFixture);

const post: ChatClient['post'] = (...sent) => client.post(...sent);

const rowsOf = (id: number) =>
  app.database.query<{ state: string; content: Buffer | null; request_id: string }>(
    `SELECT state, content, request_id FROM conversation_message
      WHERE conversation_id = $1 AND role = 'assistant' ORDER BY id`,
    [id],
  );
const alertIn = (page: string): string =>
  /<div class="banner banner-bad chat-alert"[^]*?\n<\/div>/.exec(page)?.[0] ?? '';

describe('A failed call', () => {
  test('shows an alert with code, request id and next step instead of a reply', async () => {
    const id = await client.begin(anna);
    await supplier.addFault({ times: 5, fault: { kind: 'status', status: 400 } });
    const refusal = await post(`/api/chat/${id}`, anna, { content: 'Hello', stream: true });
    const { code, request_id: requestId } = JSON.parse(refusal.body) as Record<string, string>;
    const [kept] = await rowsOf(id);
    expect(kept).toMatchObject({ state: 'failed', content: null, request_id: requestId });
    expect(refusal.headers['x-request-id']).toBe(requestId);
    const page = (await client.open(`/dashboard/webchat/${id}`, anna)).body;
    const alert = alertIn(page);
    expect(alert).toContain('role="alert"');
    expect(alert).toContain('No answer.');
    expect(alert).toContain(`<code>${code}</code>`);
    expect(alert).toContain(`<code>${requestId}</code>`);
    expect(alert).toContain('Correct what the message names and try again.');
    expect(page).not.toMatch(/<article class="message message-assistant" id="message-\d/);
  });

  test('is not sent with later turns, and becomes a note once the conversation continues', async () => {
    const id = await client.begin(anna);
    await supplier.addFault({ times: 5, fault: { kind: 'status', status: 400 } });
    await post(`/api/chat/${id}`, anna, { content: 'Lost' });
    await supplier.clearFaults();
    await post(`/api/chat/${id}`, anna, { content: 'Hello [[echo=well met]]' });
    expect(messagesIn(await supplier.requests())).toEqual([
      { role: 'user', content: 'Hello [[echo=well met]]' },
    ]);
    const alert = alertIn((await client.open(`/dashboard/webchat/${id}`, anna)).body);
    expect(alert).toContain('role="note"');
  });

  test('shows an alert below a partial reply, whose text is stored and sent with later turns', async () => {
    const id = await client.begin(anna);
    await supplier.addFault({ times: 1, fault: { kind: 'cut', after: 6 } });
    const brokenStream = await post(`/api/chat/${id}`, anna, {
      content: 'Long [[tokens=40]] [[pace=0]]',
      stream: true,
    });
    const events = eventsIn(brokenStream.body);
    const [kept] = await rowsOf(id);
    const receivedText = events.flatMap(({ event, data }) => (event === 'text' ? [data.text] : [])).join('');
    expect(events.at(-1)?.data.shown).toMatchObject({
      alert: { title: 'The answer broke off.', requestId: kept?.request_id },
    });
    const page = (await client.open(`/dashboard/webchat/${id}`, anna)).body;
    const alert = alertIn(page);
    expect(alert).toContain(`<code>${kept?.request_id}</code>`);
    expect(page).toMatch(/<\/article>\n<div class="banner banner-bad chat-alert"/);
    await post(`/api/chat/${id}`, anna, { content: 'On [[echo=so]]' });
    expect(messagesIn(await supplier.requests())).toContainEqual({
      role: 'assistant',
      content: receivedText,
    });
  });

  test('adds no heading of the model to the exported file', async () => {
    const id = await client.begin(anna);
    await supplier.addFault({ times: 5, fault: { kind: 'status', status: 400 } });
    await post(`/api/chat/${id}`, anna, { content: 'Hello' });
    const [kept] = await rowsOf(id);
    const file = (await client.open(`/dashboard/webchat/${id}/export`, anna)).body;
    expect(file).not.toContain('## sim-small');
    expect(file).toMatch(new RegExp(`> No answer\\. .*\`${kept?.request_id}\``));
  });
});
