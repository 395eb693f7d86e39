import { cookiesOf, expectSession, newAddress } from '../accounts';
import {
  requestFromReseller,
  cookieText,
  completeHandOff,
  leaveForProvider,
  type Slot,
  callbackUrl,
} from '../provider-sign-in';
import { type ReadResponse, expect, expectStatus } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';

/** Signs in a new user through the provider. */
async function signInByProvider(
  world: World,
  slot: Slot,
): Promise<{ email: string; answer: ReadResponse; back: string; cookies: string }> {
  const redirect = await leaveForProvider(world, slot);
  const email = newAddress();
  const back = callbackUrl(world, slot, redirect, email);
  const answer = await world.anonymous.get(back, { headers: { cookie: redirect.cookies } });
  return { email, answer, back, cookies: redirect.cookies };
}

const start = (slot: Slot): Scenario => ({
  operation: `GET /auth/${slot}`,
  success: async (world) => {
    const authorizationUrl = new URL((await leaveForProvider(world, slot)).location);
    expect(
      authorizationUrl.origin === world.provider.issuer,
      `sent to the provider: ${authorizationUrl.origin}`,
    );
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect((authorizationUrl.searchParams.get(name) ?? '').length >= 32, `the request has no ${name}`);
    }
  },
  badInput: async (world) =>
    expectStatus(await world.anonymous.get(`/auth/${slot}?purpose=other`), 422, 'purpose'),
  withoutRights: 'public',
});

const back = (slot: Slot): Scenario => ({
  operation: `GET /oauth/${slot}/login/callback/`,
  success: async (world) => {
    const { email, answer, back: used, cookies } = await signInByProvider(world, slot);
    expectStatus(answer, 303);
    await expectSession(world.anonymous.with({ cookie: cookiesOf(answer) }), true);
    const linked = await world.rows('SELECT 1 FROM linked_identity WHERE email = $1', [email]);
    expect(linked.length === 1, 'the identity is linked');
    const repeat = await world.anonymous.get(used, { headers: { cookie: cookies } });
    expectStatus(repeat, 400, 'invalid_request');
  },
  badInput: async (world) => {
    const back = callbackUrl(world, slot, await leaveForProvider(world, slot));
    // Without the cookie of the browser that left.
    expectStatus(await world.anonymous.get(back), 400, 'invalid_request');
  },
  withoutRights: 'public',
});

export const providerScenarios: readonly Scenario[] = [
  {
    operation: 'POST /auth/accept-tos',
    success: async (world) => {
      const { answer } = await signInByProvider(world, 'idp1');
      expect(answer.headers.get('location') !== '/signup?notice=terms', 'the acceptance goes along');
      const rows = await world.rows(
        'SELECT 1 FROM legal_acceptance WHERE user_id = (SELECT max(user_id) FROM linked_identity)',
      );
      expect(rows.length === 1, 'the version is kept with the account');
    },
    badInput: async (world) =>
      expectStatus(await world.anonymous.post('/auth/accept-tos', { json: {} }), 403, 'tos_not_accepted'),
    withoutRights: 'public',
  },
  start('idp1'),
  back('idp1'),
  start('idp2'),
  back('idp2'),
  {
    operation: 'GET /auth/sso/complete',
    success: async (world) => {
      const { path, bindingCookie: kept } = await completeHandOff(world);
      const stolenResponse = await requestFromReseller(world, path, '');
      expect(stolenResponse.status === 401, `another browser is refused: ${stolenResponse.status}`);
      const second = await completeHandOff(world);
      const { status, headers } = await requestFromReseller(world, second.path, second.bindingCookie);
      expect(status === 303, `the reseller's browser is let in: ${status}`);
      const session = cookieText(headers);
      const statusResponse = await requestFromReseller(world, '/api/legal/status', session);
      expect(statusResponse.status === 200, `the session is good there: ${statusResponse.status}`);
      await expectSession(world.anonymous.with({ cookie: session }), false);
      expect(
        (await requestFromReseller(world, second.path, second.bindingCookie)).status === 401,
        'the token works once',
      );
      expect(kept !== second.bindingCookie, 'every browser keeps a proof of its own');
    },
    badInput: async (world) =>
      expectStatus(
        await world.anonymous.get(`/auth/sso/complete?token=${'A'.repeat(43)}`),
        401,
        'invalid_token',
      ),
    withoutRights: 'public',
  },
];
