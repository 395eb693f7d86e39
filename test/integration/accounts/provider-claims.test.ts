import type { TestApp } from '../../support/app';
import { createClaimShapes, outcomeOf } from '../../support/claim-shapes';
import { openIdClient, OpenIdStandIn, sendEndlessly } from '../../support/openid-stand-in';
import { type BrowserResponse, Browser, newAddress, startAccountFixture } from './account-fixture';

const base = 'http://portal.example';
let app: TestApp;
let provider: OpenIdStandIn;

beforeAll(async () => {
  provider = await OpenIdStandIn.start();
  app = await startAccountFixture({
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

async function signInWithClaims(claims: Readonly<Record<string, unknown>>): Promise<BrowserResponse> {
  provider.claims = claims;
  const browser = new Browser(app.url, { host: new URL(base).host });
  await browser.post('/auth/accept-tos', { terms: true });
  const { location } = await browser.get('/auth/idp1');
  return browser.get(provider.callbackFrom(location ?? ''));
}

const newClaims = () => ({ sub: newAddress(), email: newAddress(), email_verified: true, name: 'Ina Roth' });

test.each(createClaimShapes())('$what: $outcome', async ({ claims, outcome, name }) => {
  const answer = await signInWithClaims(claims);
  const code = answer.status === 303 ? null : answer.json()['code'];
  expect(outcomeOf(answer.status, code)).toBe(outcome);
  const rows = await app.database.query<{ display_name: string }>(
    'SELECT display_name FROM user_account WHERE email = $1',
    [String(claims['email']).replaceAll('\0', '')],
  );
  expect(rows).toHaveLength(outcome === 'entered' ? 1 : 0);
  if (name !== undefined) expect(rows[0]?.display_name).toBe(name);
});

test('an endless provider response is aborted early', async () => {
  let oversized = { sent: 0 };
  const maxBytes = 64 * 1_024 * 1_024;
  provider.overrides.set('token', (response) => (oversized = sendEndlessly(response, maxBytes)));
  try {
    const answer = await signInWithClaims(newClaims());
    expect(outcomeOf(answer.status, answer.json()['code'])).toBe('not recognised');
    expect(oversized.sent).toBeGreaterThan(0);
    expect(oversized.sent).toBeLessThan(maxBytes / 4);
  } finally {
    provider.overrides.clear();
  }
});

test('a redirect from the provider is not followed', async () => {
  let requestCount = 0;
  provider.overrides.set('token', (response) => {
    response.writeHead(302, { location: `${provider.url}/claims` }).end();
  });
  provider.overrides.set('claims', (response) => {
    requestCount += 1;
    response.end('{}');
  });
  try {
    const answer = await signInWithClaims(newClaims());
    expect(outcomeOf(answer.status, answer.json()['code'])).toBe('not recognised');
    expect(requestCount).toBe(0);
  } finally {
    provider.overrides.clear();
  }
});
