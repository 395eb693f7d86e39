import type { TestApp } from '../../support/app';
import { claimShapes, outcomeOf } from '../../support/claim-shapes';
import { openIdClient, OpenIdStandIn, pourOut } from '../../support/openid-stand-in';
import { type Answer, Browser, newAddress, startAccountHouse } from './account-house';

const base = 'http://portal.example';
let app: TestApp;
let provider: OpenIdStandIn;

beforeAll(async () => {
  provider = await OpenIdStandIn.start();
  app = await startAccountHouse({
    environment: {
      BASE_URL: base,
      IDP1_ISSUER: provider.url,
      IDP1_CLIENT_ID: openIdClient.id,
      IDP1_CLIENT_SECRET: openIdClient.secret,
    },
  });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

async function enter(claims: Readonly<Record<string, unknown>>): Promise<Answer> {
  provider.claims = claims;
  const browser = new Browser(app.url, { host: new URL(base).host });
  await browser.post('/auth/accept-tos', { terms: true });
  const { location } = await browser.get('/auth/idp1');
  return browser.get(provider.callbackFrom(location ?? ''));
}

const someone = () => ({ sub: newAddress(), email: newAddress(), email_verified: true, name: 'Ina Roth' });

test.each(claimShapes())('$what: $outcome', async ({ claims, outcome, name }) => {
  const answer = await enter(claims);
  const code = answer.status === 303 ? null : answer.json()['code'];
  expect(outcomeOf(answer.status, code)).toBe(outcome);
  const rows = await app.database.query<{ display_name: string }>(
    'SELECT display_name FROM user_account WHERE email = $1',
    [String(claims['email']).replaceAll('\0', '')],
  );
  expect(rows).toHaveLength(outcome === 'entered' ? 1 : 0);
  if (name !== undefined) expect(rows[0]?.display_name).toBe(name);
});

test('an endless answer is left early', async () => {
  let poured = { sent: 0 };
  const most = 64 * 1_024 * 1_024;
  provider.instead.set('token', (response) => (poured = pourOut(response, most)));
  try {
    const answer = await enter(someone());
    expect(outcomeOf(answer.status, answer.json()['code'])).toBe('not recognised');
    expect(poured.sent).toBeGreaterThan(0);
    expect(poured.sent).toBeLessThan(most / 4);
  } finally {
    provider.instead.clear();
  }
});

test('an answer that leads elsewhere is not followed', async () => {
  let asked = 0;
  provider.instead.set('token', (response) => {
    response.writeHead(302, { location: `${provider.url}/claims` }).end();
  });
  provider.instead.set('claims', (response) => {
    asked += 1;
    response.end('{}');
  });
  try {
    const answer = await enter(someone());
    expect(outcomeOf(answer.status, answer.json()['code'])).toBe('not recognised');
    expect(asked).toBe(0);
  } finally {
    provider.instead.clear();
  }
});
