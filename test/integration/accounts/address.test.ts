import { randomUUID } from 'node:crypto';
import { Payments } from '#product/billing';
import { ConversationMessages, ConversationsService } from '#product/chat';
import type { TestApp } from '../../support/app';
import {
  Browser,
  goodPassword,
  mailTo,
  newAddress,
  registerUser,
  signInBrowser,
  startAccountFixture,
  tokenIn,
} from './account-fixture';

let app: TestApp;

beforeAll(async () => {
  app = await startAccountFixture();
});
afterAll(() => app.close());

const changeAddress = (browser: Browser, email: string, current_password = goodPassword) =>
  browser.post('/dashboard/settings/email', { email, current_password });

test('a new email address takes effect after confirmation, and the former address can undo the change within a day', async () => {
  const [former, next] = [await registerUser(app), newAddress()];
  const browser = await signInBrowser(app, former);
  expect((await changeAddress(browser, next, 'not the password')).json()['code']).toBe('invalid_credentials');
  expect((await changeAddress(browser, next)).json()).toEqual({ ok: true });
  const token = tokenIn(await mailTo(app, next, /Confirm your new address/));
  await signInBrowser(app, former);

  const visitor = new Browser(app.url);
  expect((await visitor.page(`/account/email?token=${token}`)).text).toContain('action="/account/email"');
  const confirmation = await visitor.submit('/account/email', { token });
  expect(confirmation.location).toBe('/login?notice=address-changed');
  expect((await visitor.post('/account/email', { token })).json()['code']).toBe('invalid_token');
  await signInBrowser(app, next);
  expect((await visitor.post('/auth/login', { email: former, password: goodPassword })).status).toBe(401);

  const undo = tokenIn(await mailTo(app, former, /Your email address was changed/));
  expect((await visitor.page(`/account/email/undo?token=${undo}`)).text).toContain(
    'action="/account/email/undo"',
  );
  expect((await visitor.submit('/account/email/undo', { token: undo })).location).toBe(
    '/login?notice=address-restored',
  );
  expect((await browser.get('/api/legal/status')).json()['code']).toBe('invalid_session');
  await signInBrowser(app, former);
});

test('an email address in use gets the same response, a notification by email, and is never taken over', async () => {
  const [own, other] = [await registerUser(app), await registerUser(app)];
  const browser = await signInBrowser(app, own);
  expect((await changeAddress(browser, other)).json()).toEqual({ ok: true });
  await mailTo(app, other, /already have an account/);
  const free = newAddress();
  await changeAddress(browser, free);
  const token = tokenIn(await mailTo(app, free, /Confirm your new address/));
  await registerUser(app, free);
  expect((await browser.post('/account/email', { token })).json()['code']).toBe('email_taken');
  await signInBrowser(app, own);
});

test('the data export is one file without secrets, also for a suspended account', async () => {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  await browser.post('/dashboard/settings', { display_name: 'Ada' });
  await app.database.query("UPDATE user_account SET status = 'suspended' WHERE email = $1", [email]);
  expect((await browser.page('/account/suspended')).text).toContain('href="/account/data"');
  const answer = await browser.get('/account/data');
  expect(answer.headers.get('content-disposition')).toContain('attachment');
  const file = answer.json();
  expect(file).toMatchObject({ account: { email, display_name: 'Ada', status: 'suspended' }, keys: [] });
  expect(file['truncated']).toEqual({ keys: false, payments: false, activity: false });
  expect([file['payments'], file['conversations']]).toEqual([[], []]);
  expect(file['legal_acceptances']).toHaveLength(1);
  expect(file['sessions']).toHaveLength(1);
  expect(JSON.stringify(file['activity'])).toContain('account.settings-changed');
  expect(Array.isArray(file['usage_by_month'])).toBe(true);
  expect(answer.text).not.toMatch(/argon2|token_hash|password_hash/);
  expect(
    await app.database.query(
      "SELECT 1 FROM activity a JOIN user_account u ON u.id = a.actor_user_id WHERE u.email = $1 AND action = 'account.data-exported'",
      [email],
    ),
  ).toHaveLength(1);
  expect((await new Browser(app.url).get('/account/data')).status).toBe(401);
});

test('the data export contains payments and every conversation with its pictures', async () => {
  const email = await registerUser(app);
  const browser = await signInBrowser(app, email);
  const [{ id: userId } = { id: 0 }] = await app.database.query<{ id: number }>(
    'SELECT id FROM user_account WHERE email = $1',
    [email],
  );
  const paymentId = randomUUID();
  const picture = Buffer.from('not really a picture');
  await app.database.transaction(async (tx) => {
    const amount = { net: 2_000n, fee: 106n, gross: 2_106n };
    await tx.query('INSERT INTO billing_account (wallet_id) VALUES ($1)', [userId]);
    const payment = { publicId: paymentId, walletId: userId, kind: 'checkout', live: false } as const;
    await app.application.get(Payments, { strict: false }).add(tx, { ...payment, amount, startedBy: userId });
    const conversations = app.application.get(ConversationsService, { strict: false });
    const messages = app.application.get(ConversationMessages, { strict: false });
    await conversations.create(tx, userId, 'm-1', 'An empty one');
    const id = await conversations.create(tx, userId, 'm-1', 'About "boats"');
    const turn = { state: 'complete', model: 'm-1', turnId: randomUUID() } as const;
    const question = await messages.add(tx, id, { ...turn, role: 'user', text: 'What floats?' });
    await messages.attach(tx, id, question, [{ name: 'a.png', mediaType: 'image/png', content: picture }]);
    await messages.add(tx, id, { ...turn, role: 'assistant', text: 'Boats & <corks>.' });
  });
  const file = (await browser.get('/account/data')).json();
  expect(file['payments']).toMatchObject([
    { id: paymentId, status: 'open', credit: 20, fee: 1.06, charged: 21.06, paid_at: null },
  ]);
  const attachments = [{ name: 'a.png', type: 'image/png', data: picture.toString('base64') }];
  const conversations = file['conversations'] as { title: string }[];
  expect(conversations.toSorted((one, other) => one.title.localeCompare(other.title))).toMatchObject([
    {
      title: 'About "boats"',
      newest_messages_first: [
        { role: 'assistant', text: 'Boats & <corks>.', attachments: [] },
        { role: 'user', text: 'What floats?', attachments },
      ],
    },
    { title: 'An empty one', newest_messages_first: [] },
  ]);
  const otherBrowser = await signInBrowser(app, await registerUser(app));
  expect((await otherBrowser.get('/account/data')).json()).toMatchObject({ payments: [], conversations: [] });
});
