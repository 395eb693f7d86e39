import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { type Simulator, startSimulator } from '../../support/simulator';
import { until } from '../../support/until';
import { ChatClient, type WebChatUser } from './chat-client';

/**
 * Requests and conversations belong to the organisation of their time. Checks every page that the new organisation can
 * open.
 */
let app: TestApp;
let supplier: Simulator;
let client: ChatClient;
let formerOrganisation: number;
let newOrganisation: number;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
  client = new ChatClient(app);
  [formerOrganisation = 0, newOrganisation = 0] = await Promise.all(
    ['former', 'present'].map(addOrganisation),
  );
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

/** Every described read-only path without an object id, and the pages of this user. */
async function readablePaths(person: WebChatUser, keyId: number): Promise<string[]> {
  const { body } = await client.send('GET', '/openapi.json', person);
  const { paths } = JSON.parse(body) as { paths: Record<string, Record<string, unknown>> };
  const plainPaths = Object.entries(paths)
    .filter(([path, verbs]) => 'get' in verbs && !path.includes('{') && !path.startsWith('/v1'))
    .map(([path]) => path);
  expect(plainPaths.length).toBeGreaterThan(40);
  return [...plainPaths, `/dashboard/keys/${keyId}`, `/dashboard/admin/users/${person.userId}`];
}

async function findMarks(
  reader: WebChatUser,
  paths: readonly string[],
  marks: readonly string[],
): Promise<string[]> {
  const foundMarks: string[] = [];
  for (const path of paths)
    for (const accept of ['text/html', 'application/json']) {
      const { body } = await client.send('GET', path, reader, undefined, { accept });
      for (const mark of marks) if (body.includes(mark)) foundMarks.push(`${path}: ${mark}`);
    }
  return foundMarks;
}

test('the new organisation sees no request or conversation from before the move', async () => {
  const movedUser = await signInAs('user', formerOrganisation);
  const [oldAdmin, newAdmin] = [
    await signInAs('org_admin', formerOrganisation),
    await signInAs('org_admin', newOrganisation),
  ];
  for (const { cookie, userId } of [oldAdmin, newAdmin])
    await client.send('POST', '/dashboard/toggle-admin-mode', { cookie, userId }, { admin_mode: 'on' });
  const key = await addKey(app, movedUser.userId);
  const chatResponse = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'hello' }] }),
  });
  expect(chatResponse.status).toBe(200);
  const request = chatResponse.headers.get('x-request-id') ?? '';
  const conversation = await client.begin(movedUser);
  await client.post(`/api/chat/${conversation}`, movedUser, { content: 'Hello' });
  await until(
    async () =>
      (await app.database.query('SELECT 1 FROM request_record WHERE user_id = $1', [movedUser.userId]))
        .length === 2,
  );
  const rows = await app.database.query<{ request_id: string }>(
    'SELECT request_id FROM request_record WHERE user_id = $1',
    [movedUser.userId],
  );
  const marks = [...rows.map(({ request_id: id }) => id), `/conversations/${conversation}"`];
  expect(marks).toContain(request);
  const paths = await readablePaths(movedUser, key.id);
  expect(await findMarks(oldAdmin, paths, marks)).not.toEqual([]);

  await app.database.source
    .getRepository(UserAccount)
    .update(movedUser.userId, { organisationId: newOrganisation });
  expect((await client.open(`/dashboard/keys/${key.id}`, newAdmin)).status).toBe(200);
  expect(await findMarks(newAdmin, paths, marks)).toEqual([]);
  for (const id of rows.map(({ request_id: each }) => each))
    for (const path of [`/dashboard/request-log/${id}`, `/dashboard/admin/decisions/${id}`])
      expect([path, (await client.open(path, newAdmin)).status]).toEqual([path, 404]);
});
