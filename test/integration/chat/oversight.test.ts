import { ActivityQuery } from '#product/audit';
import { ConversationRetention } from '#product/chat';
import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import { type Simulator, startSimulator } from '../../support/simulator';
import { submitForm } from '../web/from-page';
import { ChatClient, type Person } from './chat-client';

const PATH = '/dashboard/admin/conversations';

let app: TestApp;
let supplier: Simulator;
let client: ChatClient;
let ours: number;
let member: Person;
let owner: Person;
let stranger: Person;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
  client = new ChatClient(app);
  ours = await addOrganisation('ours');
  const theirs = await addOrganisation('theirs');
  member = await personOf('user', ours);
  owner = await personOf('org_owner', ours);
  stranger = await personOf('org_owner', theirs);
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
async function personOf(role: UserRole, organisationId: number): Promise<Person> {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
}
async function talked(): Promise<number> {
  const id = await client.begin(member);
  await client.post(`/api/chat/${id}`, member, { content: 'A secret wish [[echo=a secret answer]]' });
  return id;
}
const activityOf = async (userId: number) =>
  (await app.application.get(ActivityQuery, { strict: false }).page({ kind: 'user', userId }, { limit: 20 }))
    .rows;

test('the list, the page and the file hold no word of what was said', async () => {
  const id = await talked();
  const { body } = await client.open(PATH, owner);
  expect(body).toContain(`${PATH}/${id}`);
  const page = await client.open(`${PATH}/${id}`, owner);
  expect(page.status).toBe(200);
  const file = await client.open(`${PATH}/export`, owner);
  expect(file.body).toContain(`\r\n${id},${member.userId},`);
  for (const text of [body, page.body, file.body]) expect(text).not.toContain('secret');
});

test('content is shown on a stated reason, which its owner can see', async () => {
  const id = await talked();
  expect((await client.post(`${PATH}/${id}/content`, owner, {})).status).toBe(422);
  const sender = { url: app.url, cookie: owner.cookie };
  const shown = await submitForm(sender, `${PATH}/${id}/content`, { reason: 'a complaint' });
  expect(shown.status).toBe(200);
  expect(shown.headers['cache-control']).toBe('no-store');
  expect(shown.body).toContain('a secret answer');
  const [entry] = await activityOf(member.userId);
  expect(entry).toMatchObject({
    action: 'conversation.content-viewed',
    reason: 'a complaint',
    actor: { userId: owner.userId },
    object: { id: String(id) },
  });
});

test('deleting takes it from its owner, and is on record', async () => {
  const id = await talked();
  expect((await client.send('DELETE', `/api/admin/conversations/${id}`, owner)).status).toBe(200);
  expect((await client.open(`/dashboard/webchat/${id}`, member)).status).toBe(404);
  expect((await client.send('DELETE', `/api/admin/conversations/${id}`, owner)).status).toBe(404);
  const [entry] = await activityOf(member.userId);
  expect(entry).toMatchObject({ action: 'conversation.deleted', actor: { userId: owner.userId } });
});

test('another organisation’s is not there, and a member oversees nothing', async () => {
  const id = await talked();
  const tries: [string, string, object?][] = [
    ['GET', `${PATH}/${id}`],
    ['POST', `${PATH}/${id}/content`, { reason: 'curiosity' }],
    ['POST', `${PATH}/${id}/delete`, {}],
    ['DELETE', `/api/admin/conversations/${id}`],
  ];
  for (const [method, path, body] of tries) {
    expect([path, (await client.send(method, path, stranger, body)).status]).toEqual([path, 404]);
    expect([path, (await client.send(method, path, member, body)).status]).toEqual([path, 403]);
  }
  expect((await client.open(PATH, stranger)).body).not.toContain(`${PATH}/${id}`);
  expect((await client.open(PATH, member)).status).toBe(403);
  expect((await client.open(`/dashboard/webchat/${id}`, member)).status).toBe(200);
});

test('what was said before a person moved is not the new organisation’s, and is continued by nobody', async () => {
  const theirs = (
    await app.database.query<{ id: number }>("SELECT id FROM organisation WHERE slug = 'theirs'")
  )[0]!;
  const mover = await personOf('user', ours);
  const id = await client.begin(mover);
  const turn = () => client.post(`/api/chat/${id}`, mover, { content: 'Before [[echo=before]]' });
  expect((await turn()).status).toBe(200);
  await app.database.source.getRepository(UserAccount).update(mover.userId, { organisationId: theirs.id });
  for (const [method, path, body] of [
    ['GET', `${PATH}/${id}`],
    ['POST', `${PATH}/${id}/content`, { reason: 'curiosity' }],
    ['DELETE', `/api/admin/conversations/${id}`],
  ] as [string, string, object?][])
    expect([path, (await client.send(method, path, stranger, body)).status]).toEqual([path, 404]);
  expect((await client.open(PATH, stranger)).body).not.toContain(`${PATH}/${id}`);
  expect((await client.open(`${PATH}/${id}`, owner)).status).toBe(200);
  expect((await turn()).status).toBe(409);
  expect((await client.open(`/dashboard/webchat/${id}`, mover)).status).toBe(200);
  const fresh = await client.begin(mover);
  expect((await client.open(`${PATH}/${fresh}`, stranger)).status).toBe(200);
  expect((await client.open(`${PATH}/${fresh}`, owner)).status).toBe(404);
});

test('an organisation keeps them for so many days after the last message', async () => {
  const [old, young] = [await talked(), await talked()];
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
  expect(await retention.daysOf(ours)).toBeNull();
});

test('what was begun and never used goes after a day', async () => {
  const id = await client.begin(member);
  await app.database.query(`UPDATE conversation SET updated_at = now() - interval '25 hours' WHERE id = $1`, [
    id,
  ]);
  await app.application
    .get(ConversationRetention, { strict: false })
    .removeExpired(AbortSignal.timeout(5_000));
  expect((await client.open(`/dashboard/webchat/${id}`, member)).status).toBe(404);
});

test('an answer that a dead node left behind is incomplete, and the conversation goes on', async () => {
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
