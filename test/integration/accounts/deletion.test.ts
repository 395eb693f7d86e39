import { Ledger } from '#product/billing';
import type { TestApp } from '../../support/app';
import { addKey } from '../../support/users';
import {
  type BrowserResponse,
  Browser,
  goodPassword,
  mailTo,
  registerUser,
  signInBrowser,
  startAccountFixture,
} from './account-fixture';

let app: TestApp;

beforeAll(async () => {
  app = await startAccountFixture({ sandboxUrl: 'http://127.0.0.1:9' });
});
afterAll(() => app.close());

const path = '/dashboard/settings/delete';

async function queryRow<DeletionRow extends object>(
  sql: string,
  values: unknown[],
): Promise<DeletionRow | undefined> {
  const [row] = await app.database.query<DeletionRow>(sql, values);
  return row;
}

async function customer(): Promise<{ email: string; id: number; browser: Browser }> {
  const email = await registerUser(app);
  const row = await queryRow<{ id: number }>('SELECT id FROM user_account WHERE email = $1', [email]);
  return { email, id: row?.id ?? 0, browser: await signInBrowser(app, email) };
}

const requestDeletion = (
  browser: Browser,
  confirmation: string,
  current_password = goodPassword,
): Promise<BrowserResponse> => browser.submit(path, { confirmation, current_password });

test('the page offers the data export first, and deletion removes the account, its sessions and conversations and sends an email', async () => {
  const { email, id, browser } = await customer();
  const other = await signInBrowser(app, email);
  const page = await browser.page('/dashboard/settings');
  const card = page.text.slice(page.text.indexOf('Delete account'));
  expect(card.indexOf('href="/account/data"')).toBeGreaterThan(0);
  expect(card.indexOf('href="/account/data"')).toBeLessThan(card.indexOf(`action="${path}"`));
  expect((await browser.post('/api/conversations', { model: 'sim-small' })).status).toBe(200);
  const answer = await requestDeletion(browser, email.toUpperCase());
  expect([answer.status, answer.location]).toEqual([303, '/login?notice=deleted']);
  expect(browser.cookie('svc_session')).toBeUndefined();
  expect((await browser.page('/login?notice=deleted')).text).toContain('Your account is deleted.');
  expect((await other.get('/api/legal/status')).status).toBe(401);
  const row = await queryRow<Record<string, unknown>>('SELECT * FROM user_account WHERE id = $1', [id]);
  expect(row).toMatchObject({ status: 'deleted', display_name: '', password_hash: null });
  expect(JSON.stringify(row)).not.toContain(email);
  expect(await queryRow('SELECT 1 FROM conversation WHERE user_id = $1', [id])).toBeUndefined();
  const entry = await queryRow<object>(
    "SELECT * FROM activity WHERE action = 'user.deleted' AND user_id = $1",
    [id],
  );
  expect(entry).toMatchObject({ actor_user_id: id, changes: { status: ['active', 'deleted'] } });
  await mailTo(app, email, /account was deleted/);
  const repeatedSignIn = await new Browser(app.url).post('/auth/login', { email, password: goodPassword });
  expect([repeatedSignIn.status, repeatedSignIn.json()['code']]).toEqual([401, 'invalid_credentials']);
});

test('deletion requires the typed address and the password, and the form keeps the address but not the password', async () => {
  const { email, id, browser } = await customer();
  const wrong = await requestDeletion(browser, 'somebody@example.com');
  expect(wrong.status).toBe(409);
  expect(wrong.text).toContain('value="somebody@example.com"');
  expect(wrong.text).toContain('Type the address of this account to confirm.');
  expect(wrong.text).not.toContain(goodPassword);
  expect((await requestDeletion(browser, email, 'not this one')).status).toBe(401);
  expect((await browser.post(path, {})).status).toBe(422);
  expect(await queryRow('SELECT status FROM user_account WHERE id = $1', [id])).toEqual({ status: 'active' });
  const crossSiteResponse = await browser.submit(
    path,
    { confirmation: email },
    { 'sec-fetch-site': 'cross-site' },
  );
  expect(crossSiteResponse.status).toBe(403);
});

test('a balance and active keys block deletion with a named reason, but the web chat key does not', async () => {
  const { email, id, browser } = await customer();
  const ledger = app.application.get(Ledger, { strict: false });
  const post = (amount: bigint, ref: string) =>
    app.database.transaction((tx) =>
      ledger.post(tx, { walletId: id, amount, against: 'adjustment', kind: 'test', ref }),
    );
  await post(2_500_000_000n, 'in');
  const refusalForBalance = await requestDeletion(browser, email);
  expect([refusalForBalance.status, refusalForBalance.text.includes('holds 2.5 USD')]).toEqual([409, true]);
  await post(-2_500_000_000n, 'out');
  const key = await addKey(app, id);
  const chat = await addKey(app, id, { kind: 'webchat' });
  const refusalForKey = await requestDeletion(browser, email);
  expect([refusalForKey.status, refusalForKey.text.includes('This account has 1 key.')]).toEqual([409, true]);
  await app.database.query("UPDATE api_key SET status = 'revoked' WHERE id = $1", [key.id]);
  expect((await requestDeletion(browser, email)).status).toBe(303);
  expect(await queryRow('SELECT status FROM api_key WHERE id = $1', [chat.id])).toEqual({
    status: 'revoked',
  });
});

test('a payer for other accounts and the last platform owner cannot be deleted', async () => {
  const payer = await customer();
  await app.database.query(
    "INSERT INTO organisation (name, slug, billing_user_id) VALUES ('Acme GmbH', 'acme', $1)",
    [payer.id],
  );
  expect((await requestDeletion(payer.browser, payer.email)).text).toContain('pays for Acme GmbH');
  const owner = await customer();
  await app.database.query("UPDATE user_account SET status = 'archived' WHERE role = 'platform_owner'");
  await app.database.query("UPDATE user_account SET role = 'platform_owner' WHERE id = $1", [owner.id]);
  const browser = await signInBrowser(app, owner.email);
  const refusal = await requestDeletion(browser, owner.email);
  expect([refusal.status, refusal.text.includes('last owner')]).toEqual([403, true]);
});
