import { Organisation, UserAccount } from '#product/identity';
import { addUser, signIn } from '../../support/users';
import { type ChatClient, messagesIn, type WebChatUser } from './chat-client';
import { anna, app, client, closeChatFixture, openChatFixture, supplier } from './chat-fixture';

beforeAll(openChatFixture);
beforeEach(() => supplier.clearRequests());
afterEach(() => supplier.clearFaults());
afterAll(closeChatFixture);

const post: ChatClient['post'] = (...sent) => client.post(...sent);
const open: ChatClient['open'] = (...sent) => client.open(...sent);
const begin = (person: WebChatUser = anna, model?: string) => client.begin(person, model);

describe('Conversations of a user', () => {
  test('return 404 to another user for every operation', async () => {
    const id = await begin();
    const otherUser = await client.createUser();
    const tries: [string, string, object?][] = [
      ['GET', `/dashboard/webchat/${id}`],
      ['GET', `/dashboard/webchat/${id}/export`],
      ['POST', `/api/chat/${id}`, { content: 'x' }],
      ['POST', `/api/conversations/${id}/model`, { model: 'sim-large' }],
      ['POST', `/api/conversations/${id}/title`, { title: 'mine' }],
      ['POST', `/dashboard/webchat/${id}/delete`, {}],
      ['DELETE', `/api/conversations/${id}`],
    ];
    for (const [method, path, body] of tries) {
      expect([path, (await client.send(method, path, otherUser, body)).status]).toEqual([path, 404]);
    }
    expect((await open('/dashboard/webchat', otherUser)).body).not.toContain(`/dashboard/webchat/${id}`);
    expect((await open(`/dashboard/webchat/${id}`, anna)).status).toBe(200);
    expect(await supplier.requests()).toEqual([]);
  });

  test('are deleted when the account is erased', async () => {
    const erasedUser = await client.createUser();
    await begin(erasedUser);
    await app.database.source.getRepository(UserAccount).update(erasedUser.userId, { status: 'deleted' });
    expect(
      await app.database.query('SELECT id FROM conversation WHERE user_id = $1', [erasedUser.userId]),
    ).toEqual([]);
  });
});

// "`GET /api/conversations` and lists of people, projects, organisations have no JSON form".
test('GET /api/conversations lists the conversations of the user only', async () => {
  const owner = await client.createUser();
  const id = await begin(owner);
  await begin();
  const { status, body } = await client.send('GET', '/api/conversations', owner);
  expect([status, JSON.parse(body)]).toEqual([
    200,
    {
      object: 'list',
      data: [
        expect.objectContaining({
          id,
          model: expect.any(String) as string,
          created_at: expect.stringMatching(/Z$/) as string,
        }),
      ],
      next_cursor: null,
      previous_cursor: null,
    },
  ]);
});

describe('Titles, models and files', () => {
  test('the first words become the title until it is renamed', async () => {
    const id = await begin();
    await post(`/api/chat/${id}`, anna, { content: 'A question about bees\nand more' });
    expect((await open('/dashboard/webchat', anna)).body).toContain('A question about bees');
    await post(`/api/conversations/${id}/title`, anna, { title: ' Bees <b> ' });
    const page = (await open(`/dashboard/webchat/${id}`, anna)).body;
    expect(page).toMatch(/<h1[^>]*>Bees &lt;b&gt;<\/h1>/);
    const [row] = await app.database.query<{ title: Buffer }>(
      'SELECT title FROM conversation WHERE id = $1',
      [id],
    );
    expect(row!.title.includes('Bees')).toBe(false);
  });

  test('a change of model is noted in the thread and applies to the next turn', async () => {
    const id = await begin();
    await post(`/api/chat/${id}`, anna, { content: 'Hello' });
    expect((await post(`/api/conversations/${id}/model`, anna, { model: 'sim-large' })).json).toMatchObject({
      model: 'sim-large',
    });
    expect((await open(`/dashboard/webchat/${id}`, anna)).body).toContain('From here sim-large answers');
    const { json } = await post(`/api/chat/${id}`, anna, { content: 'Again' });
    expect(json.message?.model).toBe('sim-large');
    expect(await post(`/api/conversations/${id}/model`, anna, { model: 'none' })).toMatchObject({
      status: 403,
      json: { code: 'model_not_accessible' },
    });
  });

  test('the exported file has every message and its cost', async () => {
    const id = await begin();
    await post(`/api/chat/${id}`, anna, { content: 'Write [[echo=**bold**]]' });
    const file = await open(`/dashboard/webchat/${id}/export`, anna);
    expect(file.headers['content-disposition']).toBe(`attachment; filename="conversation-${id}.md"`);
    expect(file.body).toContain('## sim-small');
    expect(file.body).toContain('**bold**');
    expect(file.body).toMatch(/\$0\.\d+/);
  });

  test('pictures are sent only to models that support them, and other file types are refused', async () => {
    const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(40)]).toString('base64');
    const picture = { name: 'bee.png', type: 'image/png', data: png };
    const models = await app.database.query<{ name: string }>(
      `SELECT name FROM model WHERE 'image' = ANY (input_modalities) AND kind = 'chat' LIMIT 1`,
    );
    const id = await begin(anna, models[0]!.name);
    const { status } = await post(`/api/chat/${id}`, anna, { content: 'Look', attachments: [picture] });
    expect(status).toBe(200);
    expect(JSON.stringify(messagesIn(await supplier.requests()))).toContain(png.slice(0, 40));
    expect((await open(`/dashboard/webchat/${id}`, anna)).body).toContain('bee.png');
    const fakePicture = { ...picture, data: Buffer.from('<svg onload=x>').toString('base64') };
    expect(await post(`/api/chat/${id}`, anna, { content: 'x', attachments: [fakePicture] })).toMatchObject({
      status: 422,
      json: { code: 'validation_error' },
    });
    expect(
      (await post(`/api/chat/${id}`, anna, { attachments: [{ ...picture, type: 'image/svg+xml' }] })).status,
    ).toBe(422);
  });

  test('the list has pages', async () => {
    const frequentUser = await client.createUser();
    for (let count = 0; count < 31; count += 1) await begin(frequentUser);
    const firstPage = (await open('/dashboard/webchat', frequentUser)).body;
    expect([...firstPage.matchAll(/href="\/dashboard\/webchat\/\d+"/g)]).toHaveLength(30);
    const olderPath =
      /href="([^"]+)">Older conversations/.exec(firstPage)?.[1]?.replaceAll('&#x3D;', '=') ?? '';
    const secondPage = (await open(olderPath, frequentUser)).body;
    expect([...secondPage.matchAll(/href="\/dashboard\/webchat\/\d+"/g)]).toHaveLength(1);
  });
});

describe('Invalid input', () => {
  test.each([
    ['no message', {}, 422, 'validation_error'],
    ['an empty one', { content: '  ' }, 422, 'validation_error'],
    ['a field that is not known', { content: 'x', system: 'y' }, 422, 'validation_error'],
    ['a turn that is no uuid', { content: 'x', turn: '1' }, 422, 'validation_error'],
    ['nothing to ask again', { retry: true }, 409, 'conflict'],
  ])('%s', async (_what, body, status, code) => {
    const id = await begin();
    expect(await post(`/api/chat/${id}`, anna, body)).toMatchObject({ status, json: { code } });
    expect(await supplier.requests()).toEqual([]);
  });

  test('requests from another site are refused', async () => {
    const id = await begin();
    const answer = await client.send(
      'POST',
      `/api/chat/${id}`,
      anna,
      { content: 'x' },
      { 'sec-fetch-site': 'cross-site' },
    );
    expect(answer.json.code).toBe('csrf_rejected');
  });
});

test('an administrator cannot change conversations of a user in another organisation', async () => {
  const organisations = app.database.source.getRepository(Organisation);
  const organisation = organisations.create({ name: 'Acme', slug: 'acme-chat' });
  await organisations.insert(organisation);
  const admin = { userId: await addUser(app, 'org_owner'), cookie: '' };
  await app.database.source
    .getRepository(UserAccount)
    .update(admin.userId, { organisationId: organisation.id });
  const id = await begin();
  expect(
    (await open(`/dashboard/webchat/${id}`, { ...admin, cookie: await signIn(app, admin.userId) })).status,
  ).toBe(404);
});
