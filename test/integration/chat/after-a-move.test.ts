import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { type Simulator, startSimulator } from '../../support/simulator';
import { until } from '../../support/until';
import { ChatClient, type Person } from './chat-client';

/**
 * The acts of a person belong to the organisation of that time. Every page that the new one can open is
 * looked through.
 */
let app: TestApp;
let supplier: Simulator;
let client: ChatClient;
let former: number;
let present: number;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
  client = new ChatClient(app);
  [former = 0, present = 0] = await Promise.all(['former', 'present'].map(addOrganisation));
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

/** Everything that the service describes and that is read without naming an object, and the pages of this person. */
async function pathsFor(person: Person, keyId: number): Promise<string[]> {
  const { body } = await client.send('GET', '/openapi.json', person);
  const { paths } = JSON.parse(body) as { paths: Record<string, Record<string, unknown>> };
  const plain = Object.entries(paths)
    .filter(([path, verbs]) => 'get' in verbs && !path.includes('{') && !path.startsWith('/v1'))
    .map(([path]) => path);
  expect(plain.length).toBeGreaterThan(40);
  return [...plain, `/dashboard/keys/${keyId}`, `/dashboard/admin/users/${person.userId}`];
}

async function findings(
  reader: Person,
  paths: readonly string[],
  marks: readonly string[],
): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths)
    for (const accept of ['text/html', 'application/json']) {
      const { body } = await client.send('GET', path, reader, undefined, { accept });
      for (const mark of marks) if (body.includes(mark)) found.push(`${path}: ${mark}`);
    }
  return found;
}

test('no page, list or file of the new organisation has a request or a conversation of before', async () => {
  const mover = await personOf('user', former);
  const [oldAdmin, newAdmin] = [await personOf('org_admin', former), await personOf('org_admin', present)];
  for (const { cookie, userId } of [oldAdmin, newAdmin])
    await client.send('POST', '/dashboard/toggle-admin-mode', { cookie, userId }, { admin_mode: 'on' });
  const key = await addKey(app, mover.userId);
  const asked = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'hello' }] }),
  });
  expect(asked.status).toBe(200);
  const request = asked.headers.get('x-request-id') ?? '';
  const conversation = await client.begin(mover);
  await client.post(`/api/chat/${conversation}`, mover, { content: 'Hello' });
  await until(
    async () =>
      (await app.database.query('SELECT 1 FROM request_record WHERE user_id = $1', [mover.userId])).length ===
      2,
  );
  const rows = await app.database.query<{ request_id: string }>(
    'SELECT request_id FROM request_record WHERE user_id = $1',
    [mover.userId],
  );
  const marks = [...rows.map(({ request_id: id }) => id), `/conversations/${conversation}"`];
  expect(marks).toContain(request);
  const paths = await pathsFor(mover, key.id);
  expect(await findings(oldAdmin, paths, marks)).not.toEqual([]);

  await app.database.source.getRepository(UserAccount).update(mover.userId, { organisationId: present });
  expect((await client.open(`/dashboard/keys/${key.id}`, newAdmin)).status).toBe(200);
  expect(await findings(newAdmin, paths, marks)).toEqual([]);
  for (const id of rows.map(({ request_id: each }) => each))
    for (const path of [`/dashboard/request-log/${id}`, `/dashboard/admin/decisions/${id}`])
      expect([path, (await client.open(path, newAdmin)).status]).toEqual([path, 404]);
});
