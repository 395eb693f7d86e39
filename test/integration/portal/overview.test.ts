import { gzipSync } from 'node:zlib';
import { UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { addKey, addUser, signIn } from '../../support/users';
import { createChatRecord, storeRecords } from '../../support/records';
import { sendJson } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;

const getPage = (path: string, cookie: string, headers: Record<string, string> = {}) =>
  sendRaw(app.url, { path, headers: { cookie, accept: 'text/html', ...headers } });
const postJson = (path: string, cookie: string, body: object) =>
  sendJson({ url: app.url, cookie }, path, body);
const signInAs = async (role: UserRole = 'user') => {
  const userId = await addUser(app, role);
  return { userId, cookie: await signIn(app, userId) };
};

beforeAll(async () => {
  app = await startTestApp({ sandboxUrl: 'http://127.0.0.1:9' });
});
afterAll(() => app.close());

describe('The overview', () => {
  test('leads to the first request and detects it', async () => {
    const { userId, cookie } = await signInAs();
    const pageBefore = (await getPage('/dashboard', cookie)).body;
    expect(pageBefore).toContain('Your first request');
    expect(pageBefore).toMatch(/<a href="\/dashboard\/keys\/new">Create a key/);
    expect(pageBefore).toContain('hx-get="/dashboard/first-request"');
    const key = await addKey(app, userId);
    expect((await getPage('/dashboard', cookie)).body).not.toMatch(
      /<a href="\/dashboard\/keys\/new">Create a key/,
    );

    const fragment = { 'hx-request': 'true' };
    const waitingFragment = (await getPage('/dashboard/first-request', cookie, fragment)).body;
    expect(waitingFragment).toContain('every 3s');
    expect(waitingFragment).not.toContain('<html');
    await storeRecords(app, [createChatRecord(userId, key.id)]);
    const arrivedFragment = (await getPage('/dashboard/first-request', cookie, fragment)).body;
    expect(arrivedFragment).toContain('The first request has arrived');
    expect(arrivedFragment).not.toContain('hx-trigger');
    expect((await getPage('/dashboard', cookie)).body).not.toContain('Your first request');
  });

  test("sums only the user's own requests", async () => {
    const { userId, cookie } = await signInAs();
    const key = await addKey(app, userId);
    const otherUser = await signInAs();
    const otherKey = await addKey(app, otherUser.userId);
    await storeRecords(app, [
      createChatRecord(userId, key.id),
      createChatRecord(userId, key.id, {
        servedModel: 'beta',
        model: 'beta',
        costNano: 500_000_000n,
        failover: true,
      }),
      createChatRecord(userId, key.id, { code: 'upstream_error', status: 502, costNano: 0n }),
      createChatRecord(userId, key.id, {
        createdAt: new Date(Date.now() - 40 * 86_400_000),
        costNano: 1_000_000_000n,
      }),
      createChatRecord(otherUser.userId, otherKey.id, { servedModel: 'gamma', costNano: 7_000_000_000n }),
    ]);
    const body = (await getPage('/dashboard', cookie)).body;
    expect(body).toContain('$2.00');
    expect(body).toMatch(/100\s?% compared with before/);
    expect(body).toContain('33%');
    expect(body).toContain('840');
    expect(body).toContain('upstream_<wbr>error');
    expect(body).not.toContain('gamma');
    expect((await getPage('/dashboard?days=90', cookie)).body).toContain('$3.00');
    expect((await getPage('/dashboard?days=8', cookie)).status).toBe(422);
  });

  test('transfers at most 32 KB with its scripts and styles, compressed', async () => {
    const { userId, cookie } = await signInAs();
    const key = await addKey(app, userId);
    await storeRecords(
      app,
      Array.from({ length: 30 }, (_, place) =>
        createChatRecord(userId, key.id, { createdAt: new Date(Date.now() - place * 86_400_000) }),
      ),
    );
    const { body } = await getPage('/dashboard', cookie);
    const resources = body
      .replace(/<noscript>.*?<\/noscript>/gs, '')
      .matchAll(/<(?:script src|link rel="stylesheet" href)="([^"]+)"/g);
    const assets = [...resources].map(([, address = '']) => address);
    expect(assets.length).toBeGreaterThan(3);
    let bytes = gzipSync(body).length;
    for (const address of assets)
      bytes += gzipSync(Buffer.from(await (await fetch(app.url + address)).arrayBuffer())).length;
    expect(bytes).toBeLessThanOrEqual(32_000);
  });

  test('highlights a low wallet balance', async () => {
    const { userId } = await addCustomer(app, 'poor', 1_000_000_000n);
    await app.database.source.getRepository(UserAccount).update(userId, { status: 'active' });
    const body = (await getPage('/dashboard', await signIn(app, userId))).body;
    expect(body).toContain('Only $1.00 is left');
  });
});

test('the models page lists the models available to the user, with filters and data', async () => {
  const { cookie } = await signInAs();
  const body = (await getPage('/dashboard/models', cookie)).body;
  expect(body).toContain('sim-small');
  expect(body).toContain('/dashboard/keys/new?model&#x3D;sim-small');
  expect((await getPage('/dashboard/models?q=no-such', cookie)).body).toContain(
    'No model fits these filters',
  );
  const data = JSON.parse((await getPage('/dashboard/models?q=sim-small&format=json', cookie)).body) as {
    data: { id: string }[];
  };
  expect(data.data.map(({ id }) => id)).toContain('sim-small');
  expect((await getPage('/dashboard/models?sort=price', cookie)).status).toBe(422);
  const form = (await getPage('/dashboard/keys/new?model=sim-small', cookie)).body;
  expect(form).toContain('value="sim-small" checked');
});

test("the guide names the user's own key", async () => {
  const { userId, cookie } = await signInAs();
  expect((await getPage('/dashboard/guide', cookie)).body).toContain('href="/dashboard/keys/new"');
  const key = await addKey(app, userId);
  expect((await getPage('/dashboard/guide', cookie)).body).toContain(`/dashboard/keys/${key.id}`);
});

test('the page of auto counts the requests for auto', async () => {
  const { userId, cookie } = await signInAs();
  const key = await addKey(app, userId);
  expect((await getPage('/dashboard/autorouter', cookie)).body).toContain('No request asked for auto');
  await storeRecords(app, [
    createChatRecord(userId, key.id, { model: 'auto' }),
    createChatRecord(userId, key.id),
  ]);
  expect((await getPage('/dashboard/autorouter', cookie)).body).toContain('$1.5');
  const data = JSON.parse((await getPage('/dashboard/api/autorouter?days=7', cookie)).body) as object;
  expect(data).toMatchObject({ engine: 'shadow', requests: 1, models: [{ model: 'alpha', requests: 1 }] });
  expect((await getPage('/dashboard/api/autorouter?days=0', cookie)).status).toBe(422);
});

test('the page of auto keeps its period and key when the other one changes', async () => {
  const { userId, cookie } = await signInAs();
  const key = await addKey(app, userId);
  const { body } = await getPage(`/dashboard/autorouter?days=7&key=${key.id}`, cookie);
  expect(body).toContain('<input type="hidden" name="days" value="7">');
  expect(body.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&')).toMatch(
    new RegExp(`href="/dashboard/autorouter\\?(days=90&key=${key.id}|key=${key.id}&days=90)"`),
  );
});

test.each(['autorouter', 'qualitative', 'projects'])(
  'the explanation of %s can be hidden and shown again',
  async (page) => {
    const { cookie } = await signInAs(page === 'projects' ? 'platform_admin' : 'user');
    const path = page === 'projects' ? '/dashboard/admin/projects' : `/dashboard/${page}`;
    const isHelpHidden = async () => (await getPage(path, cookie)).body.includes('Show the explanation');
    expect(await isHelpHidden()).toBe(false);
    expect((await postJson(`/dashboard/${page}/help`, cookie, {})).status).toBe(200);
    expect(await isHelpHidden()).toBe(true);
    expect((await postJson(`/dashboard/${page}/help`, cookie, { help: 'open' })).status).toBe(200);
    expect(await isHelpHidden()).toBe(false);
    expect((await postJson(`/dashboard/${page}/help`, cookie, { help: 'x' })).status).toBe(422);
  },
);

test('users can disable notice topics for themselves', async () => {
  const { cookie } = await signInAs();
  const path = '/dashboard/settings/notices';
  const checkedTopics = async () =>
    [...(await getPage(path, cookie)).body.matchAll(/value="(\w+)" checked/g)].map(([, name]) => name);
  expect(await checkedTopics()).toEqual(['budget', 'balance', 'suppliers', 'models']);
  expect((await postJson(path, cookie, { notices: ['budget'] })).status).toBe(200);
  expect(await checkedTopics()).toEqual(['budget']);
  expect((await postJson(path, cookie, { notices: 'none' })).status).toBe(200);
  expect(await checkedTopics()).toEqual([]);
  expect((await postJson(path, cookie, { notices: ['weather'] })).status).toBe(422);
  expect((await postJson(path, cookie, {})).status).toBe(422);
});
