import { request } from 'node:http';
import { cookiesOf, newAddress } from '../../../operations/accounts';
import { type Answer, expect, expectStatus, jsonOf } from '../../../operations/http';
import { resellerOrigin, type World } from '../../../operations/world';
import { row, type Row } from '../../row';
import { equal, expectInvalid, okJson, refuses } from './steps';

type Slot = 'idp1' | 'idp2';

interface Away {
  readonly location: string;
  readonly cookies: string;
}

/** A browser, with the terms accepted or without, that leaves for the provider. */
async function leave(world: World, slot: Slot, hasAccepted = true): Promise<Away> {
  const terms = hasAccepted
    ? cookiesOf(await world.anonymous.post('/auth/accept-tos', { json: { terms: true, provider: slot } }))
    : '';
  const away = await world.anonymous.get(`/auth/${slot}`, { headers: { cookie: terms } });
  expectStatus(away, 302);
  return { location: away.headers.get('location') ?? '', cookies: `${terms}; ${cookiesOf(away)}` };
}

function back(world: World, slot: Slot, { location, cookies }: Away, email = newAddress()): Promise<Answer> {
  const query = world.provider.recognise(location, { subject: email, email });
  const path = `/oauth/${slot}/login/callback/?${query.toString()}`;
  return world.anonymous.get(path, { headers: { cookie: cookies, accept: 'text/html' } });
}

async function enters(world: World, slot: Slot): Promise<void> {
  const answer = await back(world, slot, await leave(world, slot));
  expectStatus(answer, 303);
  const client = world.anonymous.with({ cookie: cookiesOf(answer) });
  okJson(await client.get('/api/legal/status'));
}

const bySlot = (slot: Slot): Row[] => [
  row(
    '4.10',
    `\`GET /auth/${slot}\` starts the sign-in with external provider ${slot.slice(-1)}`,
    async (world) => {
      const { location } = await leave(world, slot);
      const asked = new URL(location);
      equal(asked.origin, world.provider.issuer, 'it leads to the provider');
      const returns = asked.searchParams.get('redirect_uri') ?? '';
      expect(returns.endsWith(`/oauth/${slot}/login/callback/`), `back to ${returns}`);
    },
  ),
  row('4.10', `\`GET /oauth/${slot}/login/callback/\` takes \`code\` and signs the person in`, (world) =>
    enters(world, slot),
  ),
  row(
    '4.10',
    `\`code\` of \`GET /oauth/${slot}/login/callback/\` may be left out: its default is empty`,
    async (world) => {
      const [left, empty] = [
        await world.anonymous.get(`/oauth/${slot}/login/callback/`),
        await world.anonymous.get(`/oauth/${slot}/login/callback/?code=`),
      ];
      refuses(left, 400, 'invalid_request');
      equal(
        [empty.status, jsonOf(empty)['human_message']],
        [left.status, jsonOf(left)['human_message']],
        'an empty code is answered as none',
      );
    },
  ),
  row('4.10', `\`GET /oauth/${slot}/login/callback/\` answers an invalid \`code\` with 422`, async (world) =>
    expectInvalid(await world.anonymous.get(`/oauth/${slot}/login/callback/?code=a&code=b`), 'query', 'code'),
  ),
];

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
  const cookies = `${terms}; ${cookiesOf(away)}`;
  const answer = await back(world, 'idp1', { location: away.headers.get('location') ?? '', cookies });
  equal(answer.headers.get('location'), '/login/hand-off', 'the person is asked first');
  const client = world.anonymous.with({ cookie: cookiesOf(answer) });
  const { text } = await client.get('/login/hand-off', { headers: { accept: 'text/html' } });
  const state = /name="state" value="([\w-]+)"/.exec(text)?.[1] ?? '';
  const home = new URL(String(okJson(await client.post('/auth/sso/hand-off', { json: { state } }))['url']));
  equal(home.origin, resellerOrigin, 'back to the reseller');
  return { path: home.pathname + home.search, kept: cookieText(atReseller.headers) };
}

const handOff: readonly Row[] = [
  row(
    '4.10',
    '`GET /auth/sso/complete` finishes a sign-in on a reseller’s portal with a token that works once',
    async (world) => {
      const { path, kept } = await handedOff(world);
      expect(path.startsWith('/auth/sso/complete?token='), `the way back: ${path}`);
      const answer = await askReseller(world, path, kept);
      equal(answer.status, 303, 'the first use');
      const there = await askReseller(world, '/api/legal/status', cookieText(answer.headers));
      equal(there.status, 200, 'a session on the portal');
      equal((await askReseller(world, path, kept)).status, 401, 'the second use');
    },
  ),
  row('4.10', '`token` of `GET /auth/sso/complete` may be left out: its default is empty', async (world) => {
    for (const query of ['', '?token='])
      refuses(await world.anonymous.get(`/auth/sso/complete${query}`), 401, 'invalid_token');
  }),
  row('4.10', '`GET /auth/sso/complete` answers an invalid `token` with 422', async (world) =>
    expectInvalid(await world.anonymous.get('/auth/sso/complete?token=a&token=b'), 'query', 'token'),
  ),
];

const terms: readonly Row[] = [
  row(
    '4.10',
    '`POST /auth/accept-tos` accepts the terms for a person who signs up through a provider',
    async (world) => {
      const answer = await world.anonymous.post('/auth/accept-tos', { json: { terms: true } });
      okJson(answer);
      refuses(await world.anonymous.post('/auth/accept-tos', { json: {} }), 403, 'tos_not_accepted');
    },
  ),
  row('4.10', 'The cookie of `POST /auth/accept-tos` is temporary', async (world) => {
    const answer = await world.anonymous.post('/auth/accept-tos', { json: { terms: true } });
    okJson(answer);
    const [line = ''] = answer.headers.getSetCookie();
    const seconds = Number(/max-age=(\d+)/i.exec(line)?.[1] ?? Number.NaN);
    expect(seconds > 0 && seconds <= 86_400, `the cookie ends within a day: ${line}`);
  }),
  row(
    '5.2.4',
    'People of a provider accept the terms before the callback: the callback lets nobody new in without',
    async (world) => {
      const refused = await back(world, 'idp1', await leave(world, 'idp1', false));
      equal(refused.headers.get('location'), '/signup?notice=terms', 'without the acceptance');
      const accepted = await back(world, 'idp1', await leave(world, 'idp1'));
      const client = world.anonymous.with({ cookie: cookiesOf(accepted) });
      equal(okJson(await client.get('/api/legal/status'))['accepted'], true, 'with it');
    },
  ),
];

const ways: readonly Row[] = [
  row('5.2.1', 'People sign in through the first external provider', (world) => enters(world, 'idp1')),
  row('5.2.1', 'People sign in through the second external provider', (world) => enters(world, 'idp2')),
  row('5.2.1', 'People sign in on a reseller’s portal by the token of a hand-off', async (world) => {
    const { path, kept } = await handedOff(world);
    const { status, headers } = await askReseller(world, path, kept);
    equal(status, 303, 'let in');
    expect(cookieText(headers).includes('svc_session='), 'with a session');
  }),
];

export const providerRows: readonly Row[] = [
  ...bySlot('idp1'),
  ...bySlot('idp2'),
  ...handOff,
  ...terms,
  ...ways,
];
