import { request } from 'node:http';
import { cookiesOf, expectSession, newAddress } from '../accounts';
import { type Answer, expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import { resellerOrigin, type World } from '../world';

type Slot = 'idp1' | 'idp2';

/** A browser that has accepted the terms and leaves for the provider. */
async function leave(world: World, slot: Slot): Promise<{ location: string; cookies: string }> {
  const accepted = await world.anonymous.post('/auth/accept-tos', { json: { terms: true, provider: slot } });
  expectStatus(accepted, 200);
  const terms = cookiesOf(accepted);
  const away = await world.anonymous.get(`/auth/${slot}`, { headers: { cookie: terms } });
  expectStatus(away, 302);
  return { location: away.headers.get('location') ?? '', cookies: `${terms}; ${cookiesOf(away)}` };
}

const somebody = (): { subject: string; email: string } => {
  const email = newAddress();
  return { subject: email, email };
};

const callback = (slot: Slot, query: URLSearchParams): string =>
  `/oauth/${slot}/login/callback/?${query.toString()}`;

/** A new person, all the way through the provider. */
async function entered(
  world: World,
  slot: Slot,
): Promise<{ email: string; answer: Answer; back: string; cookies: string }> {
  const { location, cookies } = await leave(world, slot);
  const person = somebody();
  const back = callback(slot, world.provider.recognise(location, person));
  const answer = await world.anonymous.get(back, { headers: { cookie: cookies } });
  return { email: person.email, answer, back, cookies };
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
    const { location } = await leave(world, slot);
    const query = world.provider.recognise(location, somebody());
    // Without the cookie of the browser that left.
    expectStatus(await world.anonymous.get(callback(slot, query)), 400, 'invalid_request');
  },
  withoutRights: 'public',
});

/** Asks under the reseller's name, which fetch would not send. */
function askReseller(
  world: World,
  path: string,
  cookie: string,
): Promise<{ status: number; headers: Headers }> {
  return new Promise((resolve, reject) => {
    const headers = { host: new URL(resellerOrigin).host, ...(cookie !== '' && { cookie }) };
    request(new URL(path, world.url), { headers, timeout: 20_000 }, (answer) => {
      answer.resume();
      const given = new Headers();
      if (answer.headers.location !== undefined) given.set('location', answer.headers.location);
      for (const line of answer.headers['set-cookie'] ?? []) given.append('set-cookie', line);
      resolve({ status: answer.statusCode ?? 0, headers: given });
    })
      .on('error', reject)
      .end();
  });
}

const cookieText = (headers: Headers): string =>
  headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');

/** From the reseller's address to the main one, to the provider, and back to where the reseller's browser goes next. */
async function handedOff(world: World): Promise<{ path: string; kept: string }> {
  const atReseller = await askReseller(world, '/auth/idp1', '');
  const passedOn = new URL(atReseller.headers.get('location') ?? '');
  const terms = cookiesOf(await world.anonymous.post('/auth/accept-tos', { json: { terms: true } }));
  const away = await world.anonymous.get(passedOn.pathname + passedOn.search, { headers: { cookie: terms } });
  const query = world.provider.recognise(away.headers.get('location') ?? '', somebody());
  const cookie = `${terms}; ${cookiesOf(away)}`;
  const answer = await world.anonymous.get(callback('idp1', query), { headers: { cookie } });
  expect(answer.headers.get('location') === '/login/hand-off', 'the person is asked first');
  const asked = { headers: { cookie: cookiesOf(answer), accept: 'text/html' } };
  const { text } = await world.anonymous.get('/login/hand-off', asked);
  const state = /name="state" value="([\w-]+)"/.exec(text)?.[1] ?? '';
  const client = world.anonymous.with({ cookie: cookiesOf(answer) });
  const agreed = await client.post('/auth/sso/hand-off', { json: { state } });
  expectStatus(agreed, 200);
  const home = new URL(String(jsonOf(agreed)['url']));
  expect(home.origin === resellerOrigin, `back to the reseller: ${home.origin}`);
  return { path: home.pathname + home.search, kept: cookieText(atReseller.headers) };
}

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
