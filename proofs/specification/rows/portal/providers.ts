import { cookiesOf } from '../../../operations/accounts';
import {
  askReseller,
  comeBack,
  cookieText,
  handedOff,
  leave,
  type Slot,
} from '../../../operations/by-provider';
import { expect, expectStatus, jsonOf } from '../../../operations/http';
import type { World } from '../../../operations/world';
import { openPoint, row, type Row } from '../../row';
import { equal, expectInvalid, okJson, refuses } from './steps';

async function enters(world: World, slot: Slot): Promise<void> {
  const answer = await comeBack(world, slot, await leave(world, slot));
  expectStatus(answer, 303);
  const client = world.anonymous.with({ cookie: cookiesOf(answer) });
  okJson(await client.get('/api/legal/status'));
}

const redirects = openPoint(
  'steps of a sign-in through a provider redirect the browser instead of answering 200',
);

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
    { decided: redirects },
  ),
  row(
    '4.10',
    `\`GET /oauth/${slot}/login/callback/\` takes \`code\` and signs the person in`,
    (world) => enters(world, slot),
    { decided: redirects },
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
    { decided: redirects },
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
      const refused = await comeBack(world, 'idp1', await leave(world, 'idp1', false));
      equal(refused.headers.get('location'), '/signup?notice=terms', 'without the acceptance');
      const accepted = await comeBack(world, 'idp1', await leave(world, 'idp1'));
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
