import {
  CatalogueEditor,
  CatalogueService,
  ensureSandbox,
  type ModelView,
  PriceService,
  retireSandbox,
} from '#product/catalogue';
import { AccountTokens } from '#product/identity';
import { parseUsdPerMillion, priceRates, type UserRole } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import { sendJson } from '../web/from-page';
import { ask } from '../web/raw-exchange';

let app: TestApp;

const open = async (path: string, cookie: string): Promise<string> =>
  (await ask(app.url, { path, headers: { cookie, accept: 'text/html' } })).body.replaceAll('&#x3D;', '=');
const tell = (path: string, cookie: string, body: object = {}) =>
  sendJson({ url: app.url, cookie }, path, body);
const person = async (role: UserRole) => {
  const userId = await addUser(app, role);
  return { userId, cookie: await signIn(app, userId) };
};
const models = async (): Promise<readonly ModelView[]> => {
  const catalogue = app.application.get(CatalogueService, { strict: false });
  await catalogue.reload();
  return catalogue.snapshot.models;
};
const cardOf = (page: string): string =>
  /<section class="card" aria-labelledby="set-up-heading">[\s\S]*?<\/section>/.exec(page)?.[0] ?? '';
const stepOf = (page: string, label: string): string =>
  cardOf(page)
    .split('<li>')
    .find((part) => part.includes(label)) ?? '';

beforeAll(async () => {
  app = await startTestApp({ sandboxUrl: 'http://127.0.0.1:9' });
});
afterAll(() => app.close());

async function enterByLink(userId: number): Promise<unknown> {
  const tokens = app.application.get(AccountTokens, { strict: false });
  const token = await app.database.transaction((tx) => tokens.issue(tx, 'sign_in_link', { userId }));
  const answer = await tell('/sign-in-link', '', { token });
  expect(answer.status).toBe(200);
  return answer.json.next;
}

test('the first link leads to the overview, and a later one to where the way to sign in is set', async () => {
  const userId = await addUser(app, 'platform_owner');
  expect(await enterByLink(userId)).toBe('/dashboard');
  expect(await enterByLink(userId)).toBe('/dashboard/settings');
});

test('administrators find the administration on every page, and others do not', async () => {
  const pages = async (role: UserRole) => open('/dashboard/activity', (await person(role)).cookie);
  for (const role of ['platform_owner', 'platform_admin', 'department_admin'] as const)
    expect(await pages(role)).toContain('href="/dashboard/admin/users"');
  expect(await pages('platform_admin')).toContain('href="/dashboard/admin/organisations"');
  expect(await pages('department_admin')).not.toContain('href="/dashboard/admin/organisations"');
  expect(await pages('user')).not.toContain('/dashboard/admin');
});

test('operators see what is left to set up, and customers never do', async () => {
  const operator = await person('platform_admin');
  const page = await open('/dashboard', operator.cookie);
  expect(stepOf(page, 'Connect a supplier')).toContain('href="/dashboard/admin/models?tab=providers"');
  // As `doctor` says it.
  expect(stepOf(page, 'Connect a supplier')).toContain('suppliers: none but the sandbox');
  expect(stepOf(page, 'Choose how you sign in')).toContain('href="/dashboard/settings"');
  expect(stepOf(page, 'Take payments')).toContain('optional');
  expect(cardOf(page)).not.toContain('Remove the sandbox');
  expect(cardOf(page)).not.toContain('Hide this list');
  await app.database.query("UPDATE user_account SET password_hash = 'x' WHERE id = $1", [operator.userId]);
  expect(stepOf(await open('/dashboard', operator.cookie), 'Choose how you sign in')).toContain('done');
  for (const role of ['user', 'org_owner'] as const) {
    const other = await person(role);
    expect(cardOf(await open('/dashboard', other.cookie))).toBe('');
    expect((await tell('/dashboard/setup/help', other.cookie)).status).toBe(403);
    expect((await tell('/dashboard/admin/sandbox/remove', other.cookie)).status).toBe(403);
  }
});

test('the list stays away from whom it is of no more use to', async () => {
  const { cookie } = await person('platform_admin');
  expect((await tell('/dashboard/setup/help', cookie)).status).toBe(200);
  expect(cardOf(await open('/dashboard', cookie))).toBe('');
  expect((await tell('/dashboard/setup/help', cookie, { help: 'open' })).status).toBe(200);
  expect(cardOf(await open('/dashboard', cookie))).not.toBe('');
});

describe('the sandbox', () => {
  const remove = '/dashboard/admin/sandbox/remove';
  const simulated = async () => (await models()).filter(({ name }) => name.startsWith('sim-'));

  test('is on no public list once it runs no longer', async () => {
    const listed = async () => {
      await models();
      return (await ask(app.url, { path: '/models-public', headers: { accept: 'text/html' } })).body;
    };
    expect(await listed()).toContain('sim-small');
    await app.database.transaction((tx) => retireSandbox(tx));
    expect(await listed()).not.toContain('sim-small');
    await app.database.transaction((tx) => ensureSandbox(tx, 'http://127.0.0.1:9'));
    expect(await listed()).toContain('sim-small');
  });

  test('stays while nothing else serves a model', async () => {
    const { cookie } = await person('platform_admin');
    const refused = await tell(remove, cookie);
    expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
    expect((await simulated()).every(({ state }) => state === 'active')).toBe(true);
  });

  test('leaves in one act with all that was its own', async () => {
    const { cookie } = await person('platform_admin');
    await app.database.transaction(async (tx) => {
      const editor = new CatalogueEditor();
      const rates = priceRates({ input: parseUsdPerMillion('1'), output: parseUsdPerMillion('2') });
      await editor.upsertProvider(tx, {
        name: 'north',
        style: 'openai-style',
        baseUrl: 'https://north.example',
        settings: { profile: 'vllm' },
      });
      for (const name of ['real', 'shared', 'retired']) {
        await editor.upsertModel(tx, { name, kind: 'chat', ownedBy: 'north' });
        await new PriceService().addPrice(tx, { model: name, rates, source: 'test' });
        await editor.setLanes(tx, name, [{ provider: 'north', upstreamModel: name, region: 'eu' }]);
      }
      await editor.setLanes(tx, 'shared', [
        { provider: 'north', upstreamModel: 'shared', region: 'eu' },
        { provider: 'sandbox', upstreamModel: 'sim-small', region: 'local' },
      ]);
      await editor.setRedirect(tx, 'retired', 'sim-small');
      await editor.setRedirect(tx, 'sim-large', 'real');
      await editor.addAlias(tx, 'simulated', 'sim-small');
    });
    const before = (await simulated()).map(({ name }) => name).sort();
    expect(before.length).toBeGreaterThan(5);
    const offered = await open('/dashboard', cookie);
    expect(cardOf(offered)).toContain('action="/dashboard/admin/sandbox/remove"');
    expect(stepOf(offered, 'Remove the sandbox')).toContain('href="#remove-sandbox"');

    const { status, json } = await tell(remove, cookie, { reason: 'A supplier is connected' });
    expect(status).toBe(200);
    // The page that follows at once knows of it.
    expect(cardOf(await open('/dashboard', cookie))).not.toContain('Remove the sandbox');
    expect({ ...json, models: [...(json.models as string[])].sort() }).toEqual({
      ok: true,
      providers: ['sandbox'],
      models: before,
      models_kept: ['shared'],
      redirects_removed: ['retired'],
      aliases: ['simulated'],
    });
    const after = await models();
    expect((await simulated()).filter(({ state }) => state !== 'deleted')).toEqual([]);
    const lanes = Object.fromEntries(after.map(({ name, lanes: each }) => [name, each.length]));
    expect([lanes.real, lanes.shared, lanes.retired]).toEqual([1, 1, 1]);
    const [links] = await app.database.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM model WHERE redirect_to IS NOT NULL OR overflow_to IS NOT NULL`,
    );
    expect(links?.count).toBe(0);
    expect(
      (await ask(app.url, { path: '/models-public', headers: { accept: 'text/html' } })).body,
    ).not.toContain('sim-small');
  });

  test('is on record, and a second removal changes nothing', async () => {
    const { cookie } = await person('platform_admin');
    const entries = async () =>
      app.database.query<{ action: string; count: number }>(
        `SELECT action, count(*)::integer AS count FROM activity WHERE reason = 'A supplier is connected'
          GROUP BY 1 ORDER BY 1`,
      );
    const recorded = await entries();
    expect(recorded.map(({ action }) => action)).toEqual([
      'model.alias-removed',
      'model.changed',
      'model.deleted',
      'model.redirect-changed',
      'provider.deleted',
    ]);
    const again = await tell(remove, cookie, { reason: 'A supplier is connected' });
    expect(again).toMatchObject({ status: 200, json: { ok: true, providers: [], models: [] } });
    expect(await entries()).toEqual(recorded);
  });
});
