import type { TestApp } from '../../support/app';
import { Browser, goodPassword, newAddress, registered, signedIn, startAccountHouse } from './account-house';

let app: TestApp;

beforeAll(async () => {
  app = await startAccountHouse({ environment: { ACCOUNT_FREE_ATTEMPTS: '5', ADDRESS_FREE_ATTEMPTS: '40' } });
});
afterAll(() => app.close());

const from = (address: string): Browser => new Browser(app.url, { 'x-forwarded-for': address });
const wrong = { password: 'not the password at all' };

test('guesses at one account have to wait longer and longer, from however many addresses, and all at once', async () => {
  const email = await registered(app);
  const guesses = await Promise.all(
    Array.from({ length: 40 }, (_, n) => from(`10.1.0.${n}`).post('/auth/login', { email, ...wrong })),
  );
  const refused = guesses.filter(({ status }) => status === 429);
  expect(guesses.filter(({ status }) => status === 401)).toHaveLength(6);
  expect(refused).toHaveLength(34);
  expect(refused[0]?.json()).toMatchObject({ code: 'rate_limit_exceeded' });
  expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  const page = await from('10.1.1.1').submit('/auth/login', { email, ...wrong });
  expect([page.status, page.text]).toEqual([429, expect.stringMatching(/Try again in \d+ second/)]);
  const german = new Browser(app.url, { 'x-forwarded-for': '10.1.1.1', cookie: 'svc_language=de' });
  const told = await german.submit('/auth/login', { email, ...wrong });
  expect(told.text).toMatch(/Zu viele Versuche\. Versuchen Sie es in \d+ Sekunden? erneut\./);
});

test('an unknown address is counted in the same way', async () => {
  const email = newAddress();
  const statuses = [];
  for (let n = 0; n < 7; n += 1)
    statuses.push((await from('10.2.0.1').post('/auth/login', { email, ...wrong })).status);
  expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429]);
});

test('whoever guesses does not lock the owner out of a browser that has signed in before', async () => {
  const email = await registered(app);
  const home = await signedIn(app, email);
  for (let n = 0; n < 8; n += 1) await from(`10.3.0.${n}`).post('/auth/login', { email, ...wrong });
  expect((await from('10.3.1.1').post('/auth/login', { email, password: goodPassword })).status).toBe(429);
  expect((await home.post('/auth/login', { email, password: goodPassword })).status).toBe(200);
  const stolen = from('10.3.1.2');
  stolen.keep('svc_device', `${home.cookie('svc_device')?.split('.')[0] ?? ''}.${'A'.repeat(43)}`);
  expect((await stolen.post('/auth/login', { email, password: goodPassword })).status).toBe(429);
});

test('a device of one account opens no way around the limit of another', async () => {
  const home = await signedIn(app, await registered(app));
  const victim = await registered(app);
  const statuses = [];
  for (let n = 0; n < 7; n += 1)
    statuses.push((await home.post('/auth/login', { email: victim, ...wrong })).status);
  expect(statuses.at(-1)).toBe(429);
});

test('one address that tries many accounts has to wait, and a wait ends by itself', async () => {
  const attacker = from('2001:db8:1:2::1');
  const answers = [];
  for (let n = 0; n < 42; n += 1)
    answers.push(await attacker.post('/auth/login', { email: newAddress(), ...wrong }));
  expect(answers.slice(0, 41).map(({ status }) => status)).toEqual(Array(41).fill(401));
  expect(answers[41]?.status).toBe(429);
  // The same network under another address is the same.
  expect(
    (await from('2001:db8:1:2::ffff').post('/auth/login', { email: newAddress(), ...wrong })).status,
  ).toBe(429);
  expect((await from('2001:db8:9:9::1').post('/auth/login', { email: newAddress(), ...wrong })).status).toBe(
    401,
  );
  await app.database.query("UPDATE attempt_throttle SET blocked_until = now() - interval '1 second'");
  expect((await attacker.post('/auth/login', { email: newAddress(), ...wrong })).status).toBe(401);
});

test('mails to one mailbox are bounded, known or not', async () => {
  for (const email of [await registered(app), newAddress()]) {
    const statuses = [];
    for (let n = 0; n < 7; n += 1) {
      statuses.push((await from('10.5.0.1').post('/auth/forgot-password', { email })).status);
    }
    expect(statuses.at(-1)).toBe(429);
    expect(statuses[0]).toBe(200);
  }
});

test('the right password ends the wait that wrong ones had earned', async () => {
  const email = await registered(app);
  for (let n = 0; n < 4; n += 1) await from('10.6.0.1').post('/auth/login', { email, ...wrong });
  expect((await from('10.6.0.1').post('/auth/login', { email, password: goodPassword })).status).toBe(200);
  for (let n = 0; n < 4; n += 1) {
    expect((await from('10.6.0.1').post('/auth/login', { email, ...wrong })).status).toBe(401);
  }
});
