import { cookiesOf, expectSession, newAddress } from '../accounts';
import { askReseller, cookieText, handedOff, leave, type Slot, wayBack } from '../by-provider';
import { type Answer, expect, expectStatus } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';

/** A new person, all the way through the provider. */
async function entered(
  world: World,
  slot: Slot,
): Promise<{ email: string; answer: Answer; back: string; cookies: string }> {
  const away = await leave(world, slot);
  const email = newAddress();
  const back = wayBack(world, slot, away, email);
  const answer = await world.anonymous.get(back, { headers: { cookie: away.cookies } });
  return { email, answer, back, cookies: away.cookies };
}

const start = (slot: Slot): Scenario => ({
  operation: `GET /auth/${slot}`,
  success: async (world) => {
    const asked = new URL((await leave(world, slot)).location);
    expect(asked.origin === world.provider.issuer, `sent to the provider: ${asked.origin}`);
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect((asked.searchParams.get(name) ?? '').length >= 32, `the request has no ${name}`);
    }
  },
  badInput: async (world) =>
    expectStatus(await world.anonymous.get(`/auth/${slot}?purpose=other`), 422, 'purpose'),
  withoutRights: 'public',
});

const back = (slot: Slot): Scenario => ({
  operation: `GET /oauth/${slot}/login/callback/`,
  success: async (world) => {
    const { email, answer, back: used, cookies } = await entered(world, slot);
    expectStatus(answer, 303);
    await expectSession(world.anonymous.with({ cookie: cookiesOf(answer) }), true);
    const linked = await world.rows('SELECT 1 FROM linked_identity WHERE email = $1', [email]);
    expect(linked.length === 1, 'the identity is linked');
    const again = await world.anonymous.get(used, { headers: { cookie: cookies } });
    expectStatus(again, 400, 'invalid_request');
  },
  badInput: async (world) => {
    const back = wayBack(world, slot, await leave(world, slot));
    // Without the cookie of the browser that left.
    expectStatus(await world.anonymous.get(back), 400, 'invalid_request');
  },
  withoutRights: 'public',
});

export const providerScenarios: readonly Scenario[] = [
  {
    operation: 'POST /auth/accept-tos',
    success: async (world) => {
      const { answer } = await entered(world, 'idp1');
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
      const { path, kept } = await handedOff(world);
      const stolen = await askReseller(world, path, '');
      expect(stolen.status === 401, `another browser is refused: ${stolen.status}`);
      const second = await handedOff(world);
      const { status, headers } = await askReseller(world, second.path, second.kept);
      expect(status === 303, `the reseller's browser is let in: ${status}`);
      const session = cookieText(headers);
      const there = await askReseller(world, '/api/legal/status', session);
      expect(there.status === 200, `the session is good there: ${there.status}`);
      await expectSession(world.anonymous.with({ cookie: session }), false);
      expect((await askReseller(world, second.path, second.kept)).status === 401, 'the token works once');
      expect(kept !== second.kept, 'every browser keeps a proof of its own');
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
