import { ActivityQuery } from '#product/audit';
import { ConversationRetention } from '#product/chat';
import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { type Simulator, startSimulator } from '../../support/simulator';
import { submitForm } from '../web/page-requests';
import { ChatClient, type WebChatUser } from './chat-client';

const PATH = '/dashboard/admin/conversations';

let app: TestApp;
let supplier: Simulator;
let client: ChatClient;
let ownOrganisation: number;
let member: WebChatUser;
let owner: WebChatUser;
let otherUser: WebChatUser;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
  client = new ChatClient(app);
  ownOrganisation = await addOrganisation('ours');
  const otherOrganisation = await addOrganisation('theirs');
  member = await signInAs('user', ownOrganisation);
  owner = await signInAs('org_owner', ownOrganisation);
  otherUser = await signInAs('org_owner', otherOrganisation);
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

async function addOrganisation(slug: string): Promise<number> {
  const organisations = app.database.source.getRepository(Organisation);
  const organisation = organisations.create({ name: slug, slug });
  await organisations.insert(organisation);
  return organisation.id;
}
async function signInAs(role: UserRole, organisationId: number): Promise<WebChatUser> {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
}
async function createConversation(): Promise<number> {
  const id = await client.begin(member);
  await client.post(`/api/chat/${id}`, member, { content: 'A secret wish [[echo=a secret answer]]' });
  return id;
}
const activityOf = async (userId: number) =>
  (await app.application.get(ActivityQuery, { strict: false }).page({ kind: 'user', userId }, { limit: 20 }))
    .rows;

test('the list, the page and the export for administrators contain no message text', async () => {
  const id = await createConversation();
  const { body } = await client.open(PATH, owner);
  expect(body).toContain(`${PATH}/${id}`);
  const page = await client.open(`${PATH}/${id}`, owner);
  expect(page.status).toBe(200);
  const file = await client.open(`${PATH}/export`, owner);
  expect(file.body).toContain(`\r\n${id},${member.userId},`);
  for (const text of [body, page.body, file.body]) expect(text).not.toContain('secret');
});

test('message texts are shown for a stated reason, which their owner can see', async () => {
  const id = await createConversation();
  expect((await client.post(`${PATH}/${id}/content`, owner, {})).status).toBe(422);
  const sender = { url: app.url, cookie: owner.cookie };
  const contentPage = await submitForm(sender, `${PATH}/${id}/content`, { reason: 'a complaint' });
  expect(contentPage.status).toBe(200);
  expect(contentPage.headers['cache-control']).toBe('no-store');
  expect(contentPage.body).toContain('a secret answer');
  const [entry] = await activityOf(member.userId);
  expect(entry).toMatchObject({
    action: 'conversation.content-viewed',
    reason: 'a complaint',
    actor: { userId: owner.userId },
    object: { id: String(id) },
  });
});

test('deleting a conversation removes it for its owner and is logged', async () => {
  const id = await createConversation();
  expect((await client.send('DELETE', `/api/admin/conversations/${id}`, owner)).status).toBe(200);
  expect((await client.open(`/dashboard/webchat/${id}`, member)).status).toBe(404);
  expect((await client.send('DELETE', `/api/admin/conversations/${id}`, owner)).status).toBe(404);
  const [entry] = await activityOf(member.userId);
  expect(entry).toMatchObject({ action: 'conversation.deleted', actor: { userId: owner.userId } });
});

test('conversations of another organisation return 404, and a member has no access', async () => {
  const id = await createConversation();
  const tries: [string, string, object?][] = [
    ['GET', `${PATH}/${id}`],
    ['POST', `${PATH}/${id}/content`, { reason: 'curiosity' }],
    ['POST', `${PATH}/${id}/delete`, {}],
    ['DELETE', `/api/admin/conversations/${id}`],
  ];
  for (const [method, path, body] of tries) {
    expect([path, (await client.send(method, path, otherUser, body)).status]).toEqual([path, 404]);
    expect([path, (await client.send(method, path, member, body)).status]).toEqual([path, 403]);
  }
  expect((await client.open(PATH, otherUser)).body).not.toContain(`${PATH}/${id}`);
  expect((await client.open(PATH, member)).status).toBe(403);
  expect((await client.open(`/dashboard/webchat/${id}`, member)).status).toBe(200);
});

test('conversations from before a move are hidden from the new organisation and cannot be continued', async () => {
  const newOrganisation = (
    await app.database.query<{ id: number }>("SELECT id FROM organisation WHERE slug = 'theirs'")
  )[0]!;
  const movedUser = await signInAs('user', ownOrganisation);
  const id = await client.begin(movedUser);
  const sendTurn = () => client.post(`/api/chat/${id}`, movedUser, { content: 'Before [[echo=before]]' });
  expect((await sendTurn()).status).toBe(200);
  await app.database.source
    .getRepository(UserAccount)
    .update(movedUser.userId, { organisationId: newOrganisation.id });
  for (const [method, path, body] of [
    ['GET', `${PATH}/${id}`],
    ['POST', `${PATH}/${id}/content`, { reason: 'curiosity' }],
    ['DELETE', `/api/admin/conversations/${id}`],
  ] as [string, string, object?][])
    expect([path, (await client.send(method, path, otherUser, body)).status]).toEqual([path, 404]);
  expect((await client.open(PATH, otherUser)).body).not.toContain(`${PATH}/${id}`);
  expect((await client.open(`${PATH}/${id}`, owner)).status).toBe(200);
  expect((await sendTurn()).status).toBe(409);
  expect((await client.open(`/dashboard/webchat/${id}`, movedUser)).status).toBe(200);
  const newConversation = await client.begin(movedUser);
  expect((await client.open(`${PATH}/${newConversation}`, otherUser)).status).toBe(200);
  expect((await client.open(`${PATH}/${newConversation}`, owner)).status).toBe(404);
});

test('conversations are deleted after the retention period of their organisation', async () => {
  const [old, young] = [await createConversation(), await createConversation()];
  await app.database.query(`UPDATE conversation SET updated_at = now() - interval '8 days' WHERE id = $1`, [
    old,
  ]);
  const retention = app.application.get(ConversationRetention, { strict: false });
  await retention.removeExpired(AbortSignal.timeout(5_000));
  expect((await client.open(`/dashboard/webchat/${old}`, member)).status).toBe(200);
  expect((await client.post(`${PATH}/retention`, owner, { days: 0 })).status).toBe(422);
  expect((await client.post(`${PATH}/retention`, owner, { days: 7 })).status).toBe(200);
  expect((await client.open(PATH, owner)).body).toContain('value="7"');
  await retention.removeExpired(AbortSignal.timeout(5_000));
  expect((await client.open(`/dashboard/webchat/${old}`, member)).status).toBe(404);
  expect((await client.open(`/dashboard/webchat/${young}`, member)).status).toBe(200);
  expect((await client.post(`${PATH}/retention`, owner, { days: null })).status).toBe(200);
  expect(await retention.daysOf(ownOrganisation)).toBeNull();
});

test('an unused conversation is deleted after a day', async () => {
  const id = await client.begin(member);
  await app.database.query(`UPDATE conversation SET updated_at = now() - interval '25 hours' WHERE id = $1`, [
    id,
  ]);
  await app.application
    .get(ConversationRetention, { strict: false })
    .removeExpired(AbortSignal.timeout(5_000));
  expect((await client.open(`/dashboard/webchat/${id}`, member)).status).toBe(404);
});

test('a reply interrupted by a dead node is marked incomplete, and the conversation continues', async () => {
  const id = await client.begin(member);
  await app.database.query(
    `INSERT INTO conversation_message (conversation_id, role, state, model, created_at)
     VALUES ($1, 'assistant', 'open', 'sim-small', now() - interval '26 minutes')`,
    [id],
  );
  const { status } = await client.post(`/api/chat/${id}`, member, { content: 'Hello' });
  expect(status).toBe(200);
  expect((await client.open(`/dashboard/webchat/${id}`, member)).body).toContain('stream_interrupted');
});
