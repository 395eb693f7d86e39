import { Ledger } from '#product/billing';
import type { TestApp } from '../../support/app';
import { addKey } from '../../support/people';
import {
  type Answer,
  Browser,
  goodPassword,
  mailTo,
  registered,
  signedIn,
  startAccountHouse,
} from './account-house';

let app: TestApp;

beforeAll(async () => {
  app = await startAccountHouse({ sandboxUrl: 'http://127.0.0.1:9' });
});
afterAll(() => app.close());

const path = '/dashboard/settings/delete';

async function rowOf<Row extends object>(sql: string, values: unknown[]): Promise<Row | undefined> {
  const [row] = await app.database.query<Row>(sql, values);
  return row;
}

async function customer(): Promise<{ email: string; id: number; browser: Browser }> {
  const email = await registered(app);
  const row = await rowOf<{ id: number }>('SELECT id FROM user_account WHERE email = $1', [email]);
  return { email, id: row?.id ?? 0, browser: await signedIn(app, email) };
}

const ask = (browser: Browser, confirmation: string, current_password = goodPassword): Promise<Answer> =>
  browser.submit(path, { confirmation, current_password });

test('the page offers the data first; an erased account is gone with its sessions and conversations, and told by mail', async () => {
  const { email, id, browser } = await customer();
  const other = await signedIn(app, email);
  const page = await browser.page('/dashboard/settings');
  const card = page.text.slice(page.text.indexOf('Delete account'));
  expect(card.indexOf('href="/account/data"')).toBeGreaterThan(0);
  expect(card.indexOf('href="/account/data"')).toBeLessThan(card.indexOf(`action="${path}"`));
  expect((await browser.post('/api/conversations', { model: 'sim-small' })).status).toBe(200);
  const answer = await ask(browser, email.toUpperCase());
  expect([answer.status, answer.location]).toEqual([303, '/login?notice=deleted']);
  expect(browser.cookie('svc_session')).toBeUndefined();
  expect((await browser.page('/login?notice=deleted')).text).toContain('Your account is deleted.');
  expect((await other.get('/api/legal/status')).status).toBe(401);
  const row = await rowOf<Record<string, unknown>>('SELECT * FROM user_account WHERE id = $1', [id]);
  expect(row).toMatchObject({ status: 'deleted', display_name: '', password_hash: null });
  expect(JSON.stringify(row)).not.toContain(email);
  expect(await rowOf('SELECT 1 FROM conversation WHERE user_id = $1', [id])).toBeUndefined();
  const entry = await rowOf<object>("SELECT * FROM activity WHERE action = 'user.deleted' AND user_id = $1", [
    id,
  ]);
  expect(entry).toMatchObject({ actor_user_id: id, changes: { status: ['active', 'deleted'] } });
  await mailTo(app, email, /account was deleted/);
  const again = await new Browser(app.url).post('/auth/login', { email, password: goodPassword });
  expect([again.status, again.json()['code']]).toEqual([401, 'invalid_credentials']);
});

test('it takes the address typed by hand and the password; what was typed stays, the password does not', async () => {
  const { email, id, browser } = await customer();
  const wrong = await ask(browser, 'somebody@example.com');
  expect(wrong.status).toBe(409);
  expect(wrong.text).toContain('value="somebody@example.com"');
  expect(wrong.text).toContain('Type the address of this account to confirm.');
  expect(wrong.text).not.toContain(goodPassword);
  expect((await ask(browser, email, 'not this one')).status).toBe(401);
  expect((await browser.post(path, {})).status).toBe(422);
  expect(await rowOf('SELECT status FROM user_account WHERE id = $1', [id])).toEqual({ status: 'active' });
  const foreign = await browser.submit(path, { confirmation: email }, { 'sec-fetch-site': 'cross-site' });
  expect(foreign.status).toBe(403);
});

test('money and keys stand in the way, each by its name; the key of the web chat does not', async () => {
  const { email, id, browser } = await customer();
  const ledger = app.application.get(Ledger, { strict: false });
  const post = (amount: bigint, ref: string) =>
    app.database.transaction((tx) =>
      ledger.post(tx, { walletId: id, amount, against: 'adjustment', kind: 'test', ref }),
    );
  await post(2_500_000_000n, 'in');
  const rich = await ask(browser, email);
  expect([rich.status, rich.text.includes('holds 2.5 USD')]).toEqual([409, true]);
  await post(-2_500_000_000n, 'out');
  const key = await addKey(app, id);
  const chat = await addKey(app, id, { kind: 'webchat' });
  const keyed = await ask(browser, email);
  expect([keyed.status, keyed.text.includes('This account has 1 key.')]).toEqual([409, true]);
  await app.database.query("UPDATE api_key SET status = 'revoked' WHERE id = $1", [key.id]);
  expect((await ask(browser, email)).status).toBe(303);
  expect(await rowOf('SELECT status FROM api_key WHERE id = $1', [chat.id])).toEqual({ status: 'revoked' });
});

test('who pays for others and the last owner of the platform stay', async () => {
  const payer = await customer();
  await app.database.query(
    "INSERT INTO organisation (name, slug, billing_user_id) VALUES ('Acme GmbH', 'acme', $1)",
    [payer.id],
  );
  expect((await ask(payer.browser, payer.email)).text).toContain('pays for Acme GmbH');
  const owner = await customer();
  await app.database.query("UPDATE user_account SET status = 'archived' WHERE role = 'platform_owner'");
  await app.database.query("UPDATE user_account SET role = 'platform_owner' WHERE id = $1", [owner.id]);
  const browser = await signedIn(app, owner.email);
  const refused = await ask(browser, owner.email);
  expect([refused.status, refused.text.includes('last owner')]).toEqual([403, true]);
});
