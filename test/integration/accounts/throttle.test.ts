import type { TestApp } from '../../support/app';
import {
  Browser,
  goodPassword,
  newAddress,
  registerUser,
  signInBrowser,
  startAccountFixture,
} from './account-fixture';

let app: TestApp;

beforeAll(async () => {
  app = await startAccountFixture({
    environment: { ACCOUNT_FREE_ATTEMPTS: '5', ADDRESS_FREE_ATTEMPTS: '40' },
  });
});
afterAll(() => app.close());

const browserFrom = (address: string): Browser => new Browser(app.url, { 'x-forwarded-for': address });
const wrongPassword = { password: 'not the password at all' };

test('guesses at one account are throttled with growing waits, across addresses and in parallel', async () => {
  const email = await registerUser(app);
  const guesses = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      browserFrom(`10.1.0.${n}`).post('/auth/login', { email, ...wrongPassword }),
    ),
  );
  const refusals = guesses.filter(({ status }) => status === 429);
  expect(guesses.filter(({ status }) => status === 401)).toHaveLength(6);
  expect(refusals).toHaveLength(34);
  expect(refusals[0]?.json()).toMatchObject({ code: 'rate_limit_exceeded' });
  expect(Number(refusals[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  const page = await browserFrom('10.1.1.1').submit('/auth/login', { email, ...wrongPassword });
  expect([page.status, page.text]).toEqual([429, expect.stringMatching(/Try again in \d+ second/)]);
  const germanBrowser = new Browser(app.url, { 'x-forwarded-for': '10.1.1.1', cookie: 'svc_language=de' });
  const refusalPage = await germanBrowser.submit('/auth/login', { email, ...wrongPassword });
  expect(refusalPage.text).toMatch(/Zu viele Versuche\. Versuchen Sie es in \d+ Sekunden? erneut\./);
});

test('guesses at an unknown address are throttled in the same way', async () => {
  const email = newAddress();
  const statuses = [];
  for (let n = 0; n < 7; n += 1)
    statuses.push((await browserFrom('10.2.0.1').post('/auth/login', { email, ...wrongPassword })).status);
  expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429]);
});

test('guesses do not lock the owner out of a browser that has signed in before', async () => {
  const email = await registerUser(app);
  const knownBrowser = await signInBrowser(app, email);
  for (let n = 0; n < 8; n += 1)
    await browserFrom(`10.3.0.${n}`).post('/auth/login', { email, ...wrongPassword });
  expect((await browserFrom('10.3.1.1').post('/auth/login', { email, password: goodPassword })).status).toBe(
    429,
  );
  expect((await knownBrowser.post('/auth/login', { email, password: goodPassword })).status).toBe(200);
  const attackerBrowser = browserFrom('10.3.1.2');
  attackerBrowser.setCookie(
    'svc_device',
    `${knownBrowser.cookie('svc_device')?.split('.')[0] ?? ''}.${'A'.repeat(43)}`,
  );
  expect((await attackerBrowser.post('/auth/login', { email, password: goodPassword })).status).toBe(429);
});

test('a known browser of one account does not bypass the throttling of another account', async () => {
  const knownBrowser = await signInBrowser(app, await registerUser(app));
  const victimAddress = await registerUser(app);
  const statuses = [];
  for (let n = 0; n < 7; n += 1)
    statuses.push(
      (await knownBrowser.post('/auth/login', { email: victimAddress, ...wrongPassword })).status,
    );
  expect(statuses.at(-1)).toBe(429);
});

test('an address that guesses at many accounts is throttled, and the wait ends automatically', async () => {
  const attacker = browserFrom('2001:db8:1:2::1');
  const answers = [];
  for (let n = 0; n < 42; n += 1)
    answers.push(await attacker.post('/auth/login', { email: newAddress(), ...wrongPassword }));
  expect(answers.slice(0, 41).map(({ status }) => status)).toEqual(Array(41).fill(401));
  expect(answers[41]?.status).toBe(429);
  // Another address of the same network counts as the same client.
  expect(
    (await browserFrom('2001:db8:1:2::ffff').post('/auth/login', { email: newAddress(), ...wrongPassword }))
      .status,
  ).toBe(429);
  expect(
    (await browserFrom('2001:db8:9:9::1').post('/auth/login', { email: newAddress(), ...wrongPassword }))
      .status,
  ).toBe(401);
  await app.database.query("UPDATE attempt_throttle SET blocked_until = now() - interval '1 second'");
  expect((await attacker.post('/auth/login', { email: newAddress(), ...wrongPassword })).status).toBe(401);
});

test('emails to one mailbox are limited, for known and unknown addresses', async () => {
  for (const email of [await registerUser(app), newAddress()]) {
    const statuses = [];
    for (let n = 0; n < 7; n += 1) {
      statuses.push((await browserFrom('10.5.0.1').post('/auth/forgot-password', { email })).status);
    }
    expect(statuses.at(-1)).toBe(429);
    expect(statuses[0]).toBe(200);
  }
});

test('the correct password resets the wait caused by wrong ones', async () => {
  const email = await registerUser(app);
  for (let n = 0; n < 4; n += 1)
    await browserFrom('10.6.0.1').post('/auth/login', { email, ...wrongPassword });
  expect((await browserFrom('10.6.0.1').post('/auth/login', { email, password: goodPassword })).status).toBe(
    200,
  );
  for (let n = 0; n < 4; n += 1) {
    expect((await browserFrom('10.6.0.1').post('/auth/login', { email, ...wrongPassword })).status).toBe(401);
  }
});
