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
import { addUser, signIn } from '../../support/users';
import { sendJson } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;

const getBody = async (path: string, cookie: string): Promise<string> =>
  (await sendRaw(app.url, { path, headers: { cookie, accept: 'text/html' } })).body.replaceAll('&#x3D;', '=');
const postJson = (path: string, cookie: string, body: object = {}) =>
  sendJson({ url: app.url, cookie }, path, body);
const signInAs = async (role: UserRole) => {
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

async function signInByLink(userId: number): Promise<unknown> {
  const tokens = app.application.get(AccountTokens, { strict: false });
  const token = await app.database.transaction((tx) => tokens.issue(tx, 'sign_in_link', { userId }));
  const answer = await postJson('/sign-in-link', '', { token });
  expect(answer.status).toBe(200);
  return answer.json.next;
}

test('the first sign-in link leads to the overview, and a later one to the sign-in settings', async () => {
  const userId = await addUser(app, 'platform_owner');
  expect(await signInByLink(userId)).toBe('/dashboard');
  expect(await signInByLink(userId)).toBe('/dashboard/settings');
});

test('administrators have a link to the administration on every page, and other users do not', async () => {
  const pages = async (role: UserRole) => getBody('/dashboard/activity', (await signInAs(role)).cookie);
  for (const role of ['platform_owner', 'platform_admin', 'department_admin'] as const)
    expect(await pages(role)).toContain('href="/dashboard/admin/users"');
  expect(await pages('platform_admin')).toContain('href="/dashboard/admin/organisations"');
  expect(await pages('department_admin')).not.toContain('href="/dashboard/admin/organisations"');
  expect(await pages('user')).not.toContain('/dashboard/admin');
});

test('operators see the remaining setup steps, and customers do not', async () => {
  const operator = await signInAs('platform_admin');
  const page = await getBody('/dashboard', operator.cookie);
  expect(stepOf(page, 'Connect a supplier')).toContain('href="/dashboard/admin/models?tab=providers"');
  // Same wording as the doctor command.
  expect(stepOf(page, 'Connect a supplier')).toContain('suppliers: none but the sandbox');
  expect(stepOf(page, 'Choose how you sign in')).toContain('href="/dashboard/settings"');
  expect(stepOf(page, 'Take payments')).toContain('optional');
  expect(cardOf(page)).not.toContain('Remove the sandbox');
  expect(cardOf(page)).not.toContain('Hide this list');
  await app.database.query("UPDATE user_account SET password_hash = 'x' WHERE id = $1", [operator.userId]);
  expect(stepOf(await getBody('/dashboard', operator.cookie), 'Choose how you sign in')).toContain('done');
  for (const role of ['user', 'org_owner'] as const) {
    const otherUser = await signInAs(role);
    expect(cardOf(await getBody('/dashboard', otherUser.cookie))).toBe('');
    expect((await postJson('/dashboard/setup/help', otherUser.cookie)).status).toBe(403);
    expect((await postJson('/dashboard/admin/sandbox/remove', otherUser.cookie)).status).toBe(403);
  }
});

test('the setup list is hidden from users who no longer need it', async () => {
  const { cookie } = await signInAs('platform_admin');
  expect((await postJson('/dashboard/setup/help', cookie)).status).toBe(200);
  expect(cardOf(await getBody('/dashboard', cookie))).toBe('');
  expect((await postJson('/dashboard/setup/help', cookie, { help: 'open' })).status).toBe(200);
  expect(cardOf(await getBody('/dashboard', cookie))).not.toBe('');
});

describe('The sandbox', () => {
  const remove = '/dashboard/admin/sandbox/remove';
  const simulatedModels = async () => (await models()).filter(({ name }) => name.startsWith('sim-'));

  test('disappears from public lists once it is disabled', async () => {
    const publicModelsPage = async () => {
      await models();
      return (await sendRaw(app.url, { path: '/models-public', headers: { accept: 'text/html' } })).body;
    };
    expect(await publicModelsPage()).toContain('sim-small');
    await app.database.transaction((tx) => retireSandbox(tx));
    expect(await publicModelsPage()).not.toContain('sim-small');
    await app.database.transaction((tx) => ensureSandbox(tx, 'http://127.0.0.1:9'));
    expect(await publicModelsPage()).toContain('sim-small');
  });

  test('cannot be removed while no other supplier serves a model', async () => {
    const { cookie } = await signInAs('platform_admin');
    const refusal = await postJson(remove, cookie);
    expect([refusal.status, refusal.json.code]).toEqual([409, 'conflict']);
    expect((await simulatedModels()).every(({ state }) => state === 'active')).toBe(true);
  });

  test('is removed in one action with everything that belongs to it', async () => {
    const { cookie } = await signInAs('platform_admin');
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
    const modelsBefore = (await simulatedModels()).map(({ name }) => name).sort();
    expect(modelsBefore.length).toBeGreaterThan(5);
    const overviewPage = await getBody('/dashboard', cookie);
    expect(cardOf(overviewPage)).toContain('action="/dashboard/admin/sandbox/remove"');
    expect(stepOf(overviewPage, 'Remove the sandbox')).toContain('href="#remove-sandbox"');

    const { status, json } = await postJson(remove, cookie, { reason: 'A supplier is connected' });
    expect(status).toBe(200);
    // The next page already reflects the removal.
    expect(cardOf(await getBody('/dashboard', cookie))).not.toContain('Remove the sandbox');
    expect({ ...json, models: [...(json.models as string[])].sort() }).toEqual({
      ok: true,
      providers: ['sandbox'],
      models: modelsBefore,
      models_kept: ['shared'],
      redirects_removed: ['retired'],
      aliases: ['simulated'],
    });
    const modelsAfter = await models();
    expect((await simulatedModels()).filter(({ state }) => state !== 'deleted')).toEqual([]);
    const lanes = Object.fromEntries(modelsAfter.map(({ name, lanes: each }) => [name, each.length]));
    expect([lanes.real, lanes.shared, lanes.retired]).toEqual([1, 1, 1]);
    const [links] = await app.database.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM model WHERE redirect_to IS NOT NULL OR overflow_to IS NOT NULL`,
    );
    expect(links?.count).toBe(0);
    expect(
      (await sendRaw(app.url, { path: '/models-public', headers: { accept: 'text/html' } })).body,
    ).not.toContain('sim-small');
  });

  test('is removed with an audit log entry, and a second removal changes nothing', async () => {
    const { cookie } = await signInAs('platform_admin');
    const entries = async () =>
      app.database.query<{ action: string; count: number }>(
        `SELECT action, count(*)::integer AS count FROM activity WHERE reason = 'A supplier is connected'
          GROUP BY 1 ORDER BY 1`,
      );
    const entriesBefore = await entries();
    expect(entriesBefore.map(({ action }) => action)).toEqual([
      'model.alias-removed',
      'model.changed',
      'model.deleted',
      'model.redirect-changed',
      'provider.deleted',
    ]);
    const secondRemoval = await postJson(remove, cookie, { reason: 'A supplier is connected' });
    expect(secondRemoval).toMatchObject({ status: 200, json: { ok: true, providers: [], models: [] } });
    expect(await entries()).toEqual(entriesBefore);
  });
});
