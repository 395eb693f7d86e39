import { anna, client, closeChatFixture, openChatFixture } from './chat-fixture';

/*
 * "One key fills the disk for cents: … web chat pictures 97 MB for $0.005". The same proportion at a 200th of the
 * size: a limit of 1 MiB per user instead of 200 MiB, and files of 250 kB.
 */
beforeAll(() => openChatFixture({ CHAT_ATTACHMENTS_USER_LIMIT: '1MiB' }));
afterAll(closeChatFixture);

const file = { name: 'long.txt', type: 'text/plain', data: Buffer.alloc(250_000, 'a').toString('base64') };

test('a user cannot exceed the attachment limit, and deleting a conversation frees space', async () => {
  const ben = await client.createUser();
  const send = async (id: number, person = anna) =>
    client.post(`/api/chat/${id}`, person, { content: 'Read [[echo=done]]', attachments: [file] });

  const [first, second] = [await client.begin(anna), await client.begin(anna)];
  for (const id of [first, second, first, second]) expect((await send(id)).status).toBe(200);

  const refusal = await send(first);
  expect(refusal.status).toBe(413);
  expect(JSON.parse(refusal.body)).toMatchObject({
    code: 'request_too_large',
    local_message: expect.stringContaining('up to 1 MB') as string,
  });
  expect(refusal.headers['x-svc-message-id']).toBeUndefined();
  expect((await send(await client.begin(ben), ben)).status).toBe(200);
  expect((await client.post(`/api/chat/${first}`, anna, { content: 'On [[echo=we go]]' })).status).toBe(200);

  expect((await client.send('DELETE', `/api/conversations/${second}`, anna)).status).toBeLessThan(300);
  expect((await send(first)).status).toBe(200);
});
