import { randomUUID } from 'node:crypto';
import { Limits } from '#product/billing';
import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { openPage, sendJson, submitForm } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;
let userId: number;
let cookie: string;

const sender = (sessionCookie: string) => ({ url: app.url, cookie: sessionCookie });
const getPage = (path: string, sessionCookie = cookie) => openPage(sender(sessionCookie), path);
const submit = (path: string, form: Record<string, string> | [string, string][], sessionCookie = cookie) =>
  submitForm(sender(sessionCookie), path, form);
const postJson = (path: string, body: object, sessionCookie = cookie) =>
  sendJson(sender(sessionCookie), path, body);
const signInAs = async (role: UserRole = 'user', organisationId: number | null = null) => {
  const id = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(id, { organisationId });
  return { userId: id, cookie: await signIn(app, id) };
};
const secretIn = (body: string) => /svc_[0-9A-Za-z]{57}/.exec(body)?.[0] ?? '';
const keysOf = (owner: number) =>
  app.database.query<{ id: number; name: string; status: string; rate_limit_rpm: number | null }>(
    'SELECT id, name, status, rate_limit_rpm FROM api_key WHERE user_id = $1 ORDER BY id',
    [owner],
  );
const modelsWith = (secret: string) =>
  sendRaw(app.url, { path: '/v1/models', headers: { authorization: `Bearer ${secret}` } });

beforeAll(async () => {
  app = await startTestApp();
  ({ userId, cookie } = await signInAs());
});
afterAll(() => app.close());

test('the key list distinguishes an empty list from a filter without matches', async () => {
  const newUser = await signInAs();
  expect((await getPage('/dashboard/keys', newUser.cookie)).body).toContain('No keys yet');
  expect((await getPage('/dashboard/keys?q=x', newUser.cookie)).body).toContain(
    'Nothing matches these filters',
  );
});

describe('A new key', () => {
  const form = (token: string) => ({
    creation_token: token,
    name: 'ci <b>',
    budget_limit: '20.00',
    budget_period: 'monthly',
    models_mode: 'all',
    rate_limit_rpm: '60',
    labels: 'team=web\r\nstage=test',
    _page: '/dashboard/keys/new',
  });

  test('is created once per form, works, and shows its secret in that response only', async () => {
    const owner = await signInAs();
    const page = await getPage('/dashboard/keys/new', owner.cookie);
    const token = /name="creation_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const createPage = await submit('/dashboard/keys/new', form(token), owner.cookie);
    expect(createPage.status).toBe(200);
    expect(createPage.headers['cache-control']).toBe('no-store');
    const secret = secretIn(createPage.body);
    expect((await modelsWith(secret)).status).toBe(200);
    expect(createPage.body).not.toContain('ci <b>');

    const repeatedPage = await submit('/dashboard/keys/new', form(token), owner.cookie);
    const [key, ...others] = await keysOf(owner.userId);
    expect(others).toEqual([]);
    expect(repeatedPage).toMatchObject({ status: 303, headers: { location: `/dashboard/keys/${key?.id}` } });
    expect(secretIn(repeatedPage.body)).toBe('');

    const keyPage = (await getPage(`/dashboard/keys/${key?.id}`, owner.cookie)).body;
    expect(keyPage).toContain('$0.00 of $20.00');
    expect(keyPage).toContain('value="60"');
    expect(keyPage).toContain('team&#x3D;web');
    expect(keyPage).toContain('Key created');
    expect(keyPage).not.toContain(secret);
    expect(app.log.join('\n')).not.toContain(secret);
  });

  test('is created once when a form is submitted twice at the same time', async () => {
    const owner = await signInAs();
    const token = randomUUID();
    const responses = await Promise.all(
      [1, 2, 3].map(() => submit('/dashboard/keys/new', form(token), owner.cookie)),
    );
    expect(await keysOf(owner.userId)).toHaveLength(1);
    expect(responses.filter(({ body }) => secretIn(body) !== '')).toHaveLength(1);
  });

  test.each<[string, Record<string, string>]>([
    ['name', { name: ' ' }],
    ['budget_limit', { budget_limit: '-1' }],
    ['rate_limit_rpm', { rate_limit_rpm: '0' }],
    ['expires_at', { expires_on: '2020-01-01' }],
    ['allowed_models', { models_mode: 'pick' }],
    ['metadata', { labels: 'nothing' }],
  ])('keeps the entered values when the form is refused for %s', async (param, wrong) => {
    const keyCountBefore = (await keysOf(userId)).length;
    const answer = await submit('/dashboard/keys/new', { ...form(randomUUID()), ...wrong });
    expect(answer.status).toBe(422);
    expect(answer.body).toContain('role="alert"');
    const fields: Record<string, string> = {
      allowed_models: 'models_mode',
      expires_at: 'expires_on',
      metadata: 'labels',
    };
    const markedTag =
      /<(?:input|textarea|select)\b[^>]*aria-invalid="true"[^>]*>/.exec(answer.body)?.[0] ?? '';
    expect(markedTag).toContain(`name="${fields[param] ?? param}"`);
    expect(answer.body).toContain('value="monthly" selected');
    expect(answer.body).toContain(wrong.budget_limit === undefined ? 'value="20.00"' : 'value="-1"');
    expect(await keysOf(userId)).toHaveLength(keyCountBefore);
  });

  test('belongs to the caller, unless their role covers the other owner', async () => {
    const otherUser = await signInAs();
    const refusal = await postJson('/dashboard/keys/new', { name: 'theirs', user_id: otherUser.userId });
    expect(refusal).toMatchObject({ status: 403 });
    const organisations = app.database.source.getRepository(Organisation);
    const organisation = organisations.create({ name: 'House', slug: 'house' });
    await organisations.insert(organisation);
    const admin = await signInAs('org_admin', organisation.id);
    const member = await signInAs('user', organisation.id);
    const createResponse = await postJson(
      '/dashboard/keys/new',
      { name: 'for you', user_id: member.userId },
      admin.cookie,
    );
    expect(createResponse.status).toBe(200);
    expect((await keysOf(member.userId)).map(({ name }) => name)).toEqual(['for you']);
    expect(
      (await postJson('/dashboard/keys/new', { name: 'out', user_id: otherUser.userId }, admin.cookie))
        .status,
    ).toBe(403);
  });
});

describe('A key', () => {
  const createKey = async () => {
    const key = await addKey(app, userId);
    return { ...key, path: `/dashboard/keys/${key.id}` };
  };

  test('shows in the list and on its page that a gateway file manages it, if the next apply would undo a change', async () => {
    const { path, id } = await createKey();
    const ownPage = (await getPage(path)).body;
    expect(ownPage).not.toContain('gateway.yaml');
    await app.database.query(`UPDATE api_key SET file_name = 'reports' WHERE id = $1`, [id]);
    const managedPage = (await getPage(path)).body;
    expect(managedPage).toContain('Managed by gateway.yaml as “reports”');
    expect(managedPage).toContain('The next time gateway.yaml is applied, it sets name, budget, limits');
    expect(managedPage).toContain('Applying the file does not create it again');
    expect(
      (await getPage('/dashboard/keys')).body.match(/<small>managed by gateway\.yaml<\/small>/g),
    ).toHaveLength(1);
    await postJson(path, { action: 'revoke' });
    expect((await getPage(path)).body).not.toContain('Managed by gateway.yaml');
  });

  test('returns 404 to other users for reads and writes, unless the admin view covers it', async () => {
    const { path } = await createKey();
    const otherUser = await signInAs();
    expect((await getPage(path, otherUser.cookie)).status).toBe(404);
    for (const action of ['pause', 'revoke', 'rotate'])
      expect((await postJson(path, { action }, otherUser.cookie)).status).toBe(404);
    expect((await getPage('/dashboard/keys/nothing1')).status).toBe(404);
    const admin = await signInAs('platform_admin');
    expect((await getPage(path, admin.cookie)).status).toBe(404);
    await postJson('/dashboard/toggle-admin-mode', { admin_mode: 'on' }, admin.cookie);
    expect((await getPage(path, admin.cookie)).status).toBe(200);
  });

  test('is paused and resumed immediately', async () => {
    const { path, text } = await createKey();
    expect((await modelsWith(text)).status).toBe(200);
    expect((await submit(path, { action: 'pause' })).status).toBe(303);
    expect((await modelsWith(text)).status).toBe(401);
    expect((await getPage(path)).body).toContain('Paused');
    await submit(path, { action: 'resume' });
    expect((await modelsWith(text)).status).toBe(200);
    expect((await getPage(path)).body).toMatch(/Key enabled|Key resumed/);
  });

  test('is changed by its form, and an empty field removes a restriction', async () => {
    const { path, id } = await createKey();
    const form = {
      action: 'save',
      name: 'renamed',
      budget_limit: '5',
      budget_period: 'daily',
      rate_limit_rpm: '7',
    };
    expect((await submit(path, form)).status).toBe(303);
    const limits = app.application.get(Limits, { strict: false });
    expect(await limits.state({ kind: 'key', id })).toMatchObject({ limit: 5_000_000_000n, period: 'daily' });
    expect((await getPage(path)).body).toContain('renamed');
    await submit(path, { ...form, budget_limit: '', rate_limit_rpm: '' });
    expect(await limits.state({ kind: 'key', id })).toBeNull();
    const refusal = await submit(path, { ...form, budget_limit: 'many', _page: path });
    expect(refusal.status).toBe(422);
    expect(refusal.body).toContain('value="many"');
  });

  test('is changed through JSON with the field names of the API', async () => {
    const { path } = await createKey();
    const { status, json } = await postJson(path, { rate_limit_rpm: 9, budget_limit: 2 });
    expect({ status, rate: json['rate_limit_rpm'], limit: json['budget_limit'] }).toEqual({
      status: 200,
      rate: 9,
      limit: 2,
    });
    expect((await postJson(path, { rate_limit: 9 })).status).toBe(422);
    expect((await postJson(path, { action: 'eat' })).status).toBe(422);
    expect(await postJson(path, { allowed_regions: ['mars'] })).toMatchObject({
      status: 422,
      json: {
        detail: [{ loc: ['body', 'allowed_regions'], msg: expect.stringContaining('Known regions: ') }],
      },
    });
  });

  test('gets a new secret while the old one stays valid for the grace period', async () => {
    const { path, text } = await createKey();
    const page = await submit(path, { action: 'rotate', grace_seconds: '3600' });
    const secret = secretIn(page.body);
    expect(secret).not.toBe(text);
    expect(page.headers['cache-control']).toBe('no-store');
    expect([(await modelsWith(secret)).status, (await modelsWith(text)).status]).toEqual([200, 200]);
    const { json } = await postJson(path, { action: 'rotate' });
    expect([(await modelsWith(String(json['key']))).status, (await modelsWith(text)).status]).toEqual([
      200, 401,
    ]);
  });

  test('is revoked permanently, with the reason logged', async () => {
    const { path, text } = await createKey();
    expect((await submit(path, { action: 'revoke', reason: 'left the team', final: 'on' })).status).toBe(303);
    expect((await modelsWith(text)).status).toBe(401);
    const body = (await getPage(path)).body;
    expect(body).toContain('left the team');
    expect(body).not.toContain('value="revoke"');
    expect((await postJson(path, { name: 'back' })).status).toBe(409);
  });
});

test("the list shows the user's own keys with filters, pagination and a matching export", async () => {
  const owner = await signInAs();
  for (let count = 0; count < 52; count += 1) await addKey(app, owner.userId);
  const firstPage = (await getPage('/dashboard/keys', owner.cookie)).body;
  expect(firstPage.match(/<tr class="linked">/g)).toHaveLength(50);
  expect(firstPage).toContain('rel="next"');
  const [key] = await keysOf(owner.userId);
  await submit(`/dashboard/keys/${key?.id}`, { action: 'pause' }, owner.cookie);
  const pausedPage = (await getPage('/dashboard/keys?status=disabled', owner.cookie)).body;
  expect(pausedPage.match(/<tr class="linked">/g)).toHaveLength(1);
  const file = await getPage('/dashboard/keys/export?status=disabled', owner.cookie);
  expect(file.body.trimEnd().split('\r\n')).toHaveLength(2);
  expect(file.body).toContain(`${key?.id},test,disabled`);
  expect((await getPage('/dashboard/keys?status=eaten', owner.cookie)).status).toBe(422);
});

test('a key near its budget limit or expiry is highlighted', async () => {
  const owner = await signInAs();
  const key = await addKey(app, owner.userId);
  await postJson(`/dashboard/keys/${key.id}`, { budget_limit: 0 }, owner.cookie);
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  const otherKey = await addKey(app, owner.userId);
  await postJson(`/dashboard/keys/${otherKey.id}`, { name: 'ending', expires_at: expiresAt }, owner.cookie);
  const body = (await getPage('/dashboard/keys', owner.cookie)).body;
  expect(body).toContain('has used up its budget');
  expect(body).toContain('Key ending ends');
  expect((await getPage('/dashboard/keys', cookie)).body).not.toContain('Key ending ends');
});
