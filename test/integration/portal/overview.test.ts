import { gzipSync } from 'node:zlib';
import { UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { addKey, addUser, signIn } from '../../support/people';
import { chatRecord, putRecords } from '../../support/records';
import { sendJson } from '../web/from-page';
import { ask } from '../web/raw-exchange';

let app: TestApp;

const open = (path: string, cookie: string, headers: Record<string, string> = {}) =>
  ask(app.url, { path, headers: { cookie, accept: 'text/html', ...headers } });
const tell = (path: string, cookie: string, body: object) => sendJson({ url: app.url, cookie }, path, body);
const person = async (role: UserRole = 'user') => {
  const userId = await addUser(app, role);
  return { userId, cookie: await signIn(app, userId) };
};

beforeAll(async () => {
  app = await startTestApp({ sandboxUrl: 'http://127.0.0.1:9' });
});
afterAll(() => app.close());

describe('the overview', () => {
  test('leads to the first request, and notices it', async () => {
    const { userId, cookie } = await person();
    const before = (await open('/dashboard', cookie)).body;
    expect(before).toContain('Your first request');
    expect(before).toMatch(/<a href="\/dashboard\/keys\/new">Create a key/);
    expect(before).toContain('hx-get="/dashboard/first-request"');
    const key = await addKey(app, userId);
    expect((await open('/dashboard', cookie)).body).not.toMatch(
      /<a href="\/dashboard\/keys\/new">Create a key/,
    );

    const fragment = { 'hx-request': 'true' };
    const waiting = (await open('/dashboard/first-request', cookie, fragment)).body;
    expect(waiting).toContain('every 3s');
    expect(waiting).not.toContain('<html');
    await putRecords(app, [chatRecord(userId, key.id)]);
    const arrived = (await open('/dashboard/first-request', cookie, fragment)).body;
    expect(arrived).toContain('The first request has arrived');
    expect(arrived).not.toContain('hx-trigger');
    expect((await open('/dashboard', cookie)).body).not.toContain('Your first request');
  });

  test('sums what one’s own requests came to, and nobody else’s', async () => {
    const { userId, cookie } = await person();
    const key = await addKey(app, userId);
    const other = await person();
    const foreign = await addKey(app, other.userId);
    await putRecords(app, [
      chatRecord(userId, key.id),
      chatRecord(userId, key.id, {
        servedModel: 'beta',
        model: 'beta',
        costNano: 500_000_000n,
        failover: true,
      }),
      chatRecord(userId, key.id, { code: 'upstream_error', status: 502, costNano: 0n }),
      chatRecord(userId, key.id, {
        createdAt: new Date(Date.now() - 40 * 86_400_000),
        costNano: 1_000_000_000n,
      }),
      chatRecord(other.userId, foreign.id, { servedModel: 'gamma', costNano: 7_000_000_000n }),
    ]);
    const body = (await open('/dashboard', cookie)).body;
    expect(body).toContain('$2.00');
    expect(body).toMatch(/100\s?% compared with before/);
    expect(body).toContain('33%');
    expect(body).toContain('840');
    expect(body).toContain('upstream_<wbr>error');
    expect(body).not.toContain('gamma');
    expect((await open('/dashboard?days=90', cookie)).body).toContain('$3.00');
    expect((await open('/dashboard?days=8', cookie)).status).toBe(422);
  });

  test('weighs at most 32 KB with its scripts and styles, compressed', async () => {
    const { userId, cookie } = await person();
    const key = await addKey(app, userId);
    await putRecords(
      app,
      Array.from({ length: 30 }, (_, place) =>
        chatRecord(userId, key.id, { createdAt: new Date(Date.now() - place * 86_400_000) }),
      ),
    );
    const { body } = await open('/dashboard', cookie);
    const loaded = body
      .replace(/<noscript>.*?<\/noscript>/gs, '')
      .matchAll(/<(?:script src|link rel="stylesheet" href)="([^"]+)"/g);
    const assets = [...loaded].map(([, address = '']) => address);
    expect(assets.length).toBeGreaterThan(3);
    let bytes = gzipSync(body).length;
    for (const address of assets)
      bytes += gzipSync(Buffer.from(await (await fetch(app.url + address)).arrayBuffer())).length;
    expect(bytes).toBeLessThanOrEqual(32_000);
  });

  test('calls a wallet that is nearly empty to attention', async () => {
    const { userId } = await addCustomer(app, 'poor', 1_000_000_000n);
    await app.database.source.getRepository(UserAccount).update(userId, { status: 'active' });
    const body = (await open('/dashboard', await signIn(app, userId))).body;
    expect(body).toContain('Only $1.00 is left');
  });
});

test('the models one may call, with their filters and data', async () => {
  const { cookie } = await person();
  const body = (await open('/dashboard/models', cookie)).body;
  expect(body).toContain('sim-small');
  expect(body).toContain('/dashboard/keys/new?model&#x3D;sim-small');
  expect((await open('/dashboard/models?q=no-such', cookie)).body).toContain('No model fits these filters');
  const data = JSON.parse((await open('/dashboard/models?q=sim-small&format=json', cookie)).body) as {
    data: { id: string }[];
  };
  expect(data.data.map(({ id }) => id)).toContain('sim-small');
  expect((await open('/dashboard/models?sort=price', cookie)).status).toBe(422);
  const form = (await open('/dashboard/keys/new?model=sim-small', cookie)).body;
  expect(form).toContain('value="sim-small" checked');
});

test('the guide names one’s own key', async () => {
  const { userId, cookie } = await person();
  expect((await open('/dashboard/guide', cookie)).body).toContain('href="/dashboard/keys/new"');
  const key = await addKey(app, userId);
  expect((await open('/dashboard/guide', cookie)).body).toContain(`/dashboard/keys/${key.id}`);
});

test('the page of auto counts what asked for it', async () => {
  const { userId, cookie } = await person();
  const key = await addKey(app, userId);
  expect((await open('/dashboard/autorouter', cookie)).body).toContain('No request asked for auto');
  await putRecords(app, [chatRecord(userId, key.id, { model: 'auto' }), chatRecord(userId, key.id)]);
  expect((await open('/dashboard/autorouter', cookie)).body).toContain('$1.5');
  const data = JSON.parse((await open('/dashboard/api/autorouter?days=7', cookie)).body) as object;
  expect(data).toMatchObject({ engine: 'shadow', requests: 1, models: [{ model: 'alpha', requests: 1 }] });
  expect((await open('/dashboard/api/autorouter?days=0', cookie)).status).toBe(422);
});

test('the page of auto keeps its period and its key when the other is chosen', async () => {
  const { userId, cookie } = await person();
  const key = await addKey(app, userId);
  const { body } = await open(`/dashboard/autorouter?days=7&key=${key.id}`, cookie);
  expect(body).toContain('<input type="hidden" name="days" value="7">');
  expect(body.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&')).toMatch(
    new RegExp(`href="/dashboard/autorouter\\?(days=90&key=${key.id}|key=${key.id}&days=90)"`),
  );
});

test.each(['autorouter', 'qualitative', 'projects'])(
  'the explanation of %s is put away, and comes back',
  async (page) => {
    const { cookie } = await person(page === 'projects' ? 'platform_admin' : 'user');
    const path = page === 'projects' ? '/dashboard/admin/projects' : `/dashboard/${page}`;
    const closed = async () => (await open(path, cookie)).body.includes('Show the explanation');
    expect(await closed()).toBe(false);
    expect((await tell(`/dashboard/${page}/help`, cookie, {})).status).toBe(200);
    expect(await closed()).toBe(true);
    expect((await tell(`/dashboard/${page}/help`, cookie, { help: 'open' })).status).toBe(200);
    expect(await closed()).toBe(false);
    expect((await tell(`/dashboard/${page}/help`, cookie, { help: 'x' })).status).toBe(422);
  },
);

test('topics of notices are switched off for oneself', async () => {
  const { cookie } = await person();
  const path = '/dashboard/settings/notices';
  const ticked = async () =>
    [...(await open(path, cookie)).body.matchAll(/value="(\w+)" checked/g)].map(([, name]) => name);
  expect(await ticked()).toEqual(['budget', 'balance', 'suppliers', 'models']);
  expect((await tell(path, cookie, { notices: ['budget'] })).status).toBe(200);
  expect(await ticked()).toEqual(['budget']);
  expect((await tell(path, cookie, { notices: 'none' })).status).toBe(200);
  expect(await ticked()).toEqual([]);
  expect((await tell(path, cookie, { notices: ['weather'] })).status).toBe(422);
  expect((await tell(path, cookie, {})).status).toBe(422);
});
