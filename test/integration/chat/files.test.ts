import { type ChatClient, messagesIn } from './chat-client';
import { anna, client, closeChatFixture, openChatFixture, supplier } from './chat-fixture';

beforeAll(openChatFixture);
beforeEach(() => supplier.clearRequests());
afterAll(closeChatFixture);

const post: ChatClient['post'] = (...sent) => client.post(...sent);
const textFile = (name: string, content: string | Buffer) => ({
  name,
  type: 'text/plain',
  data: Buffer.from(content).toString('base64'),
});

describe('A text file', () => {
  test('is sent with its message and later turns, also to a model without picture support', async () => {
    const id = await client.begin(anna, 'sim-reason');
    const attachments = [textFile('notes.md', '\uFEFFone ``` two'), textFile('b.csv', 'x,y')];
    const firstReply = await post(`/api/chat/${id}`, anna, { content: 'Read [[echo=done]]', attachments });
    expect(firstReply).toMatchObject({ status: 200, json: { message: { content: 'done' } } });
    const userMessage = {
      role: 'user',
      content: 'Read [[echo=done]]\n\nnotes.md:\n````\none ``` two\n````\n\nb.csv:\n```\nx,y\n```',
    };
    expect(messagesIn(await supplier.requests())).toEqual([userMessage]);
    await post(`/api/chat/${id}`, anna, { content: 'And? [[echo=so]]' });
    expect(messagesIn(await supplier.requests())).toEqual([
      userMessage,
      { role: 'assistant', content: 'done' },
      { role: 'user', content: 'And? [[echo=so]]' },
    ]);
    const page = (await client.open(`/dashboard/webchat/${id}`, anna)).body;
    expect(page).toContain('notes.md');
    expect(page).not.toContain('one ``` two');
  });

  test('can be sent without a message text', async () => {
    const id = await client.begin(anna);
    const attachments = [textFile('task.txt', '[[echo=from the file]]')];
    expect((await post(`/api/chat/${id}`, anna, { attachments })).json.message?.content).toBe(
      'from the file',
    );
  });

  test.each([
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x41, 0]), 422, 'tool.txt is damaged'],
    ['more than a text file may have', Buffer.alloc(500_001, 'a'), 413, 'tool.txt was not added'],
  ])('is refused for %s, and the conversation continues', async (_what, content, status, text) => {
    const id = await client.begin(anna);
    const refusal = await post(`/api/chat/${id}`, anna, {
      content: 'Read',
      attachments: [textFile('tool.txt', content)],
    });
    expect(refusal.status).toBe(status);
    expect(refusal.headers['x-svc-message-id']).toBeUndefined();
    expect(JSON.parse(refusal.body)).toMatchObject({
      local_message: expect.stringContaining(text) as string,
    });
    expect(
      (await post(`/api/chat/${id}`, anna, { content: 'On [[echo=we go]]' })).json.message?.content,
    ).toBe('we go');
  });
});
