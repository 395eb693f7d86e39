import { cookiesOf } from '../../../operations/accounts';
import {
  requestFromReseller,
  followCallback,
  cookieText,
  completeHandOff,
  leaveForProvider,
  type Slot,
} from '../../../operations/provider-sign-in';
import { expect, expectStatus, jsonOf } from '../../../operations/http';
import type { World } from '../../../operations/world';
import { openPoint, row, type SpecificationRow } from '../../row';
import { equal, expectInvalid, okJson, expectRejected } from './row-helpers';

async function expectSignIn(world: World, slot: Slot): Promise<void> {
  const answer = await followCallback(world, slot, await leaveForProvider(world, slot));
  expectStatus(answer, 303);
  const client = world.anonymous.with({ cookie: cookiesOf(answer) });
  okJson(await client.get('/api/legal/status'));
}

const redirects = openPoint(
  'steps of a sign-in through a provider redirect the browser instead of answering 200',
);

const bySlot = (slot: Slot): SpecificationRow[] => [
  row(
    '4.10',
    `\`GET /auth/${slot}\` starts the sign-in with external provider ${slot.slice(-1)}`,
    async (world) => {
      const { location } = await leaveForProvider(world, slot);
      const authorizationUrl = new URL(location);
      equal(authorizationUrl.origin, world.provider.issuer, 'it leads to the provider');
      const redirectUri = authorizationUrl.searchParams.get('redirect_uri') ?? '';
      expect(redirectUri.endsWith(`/oauth/${slot}/login/callback/`), `back to ${redirectUri}`);
    },
    { decided: redirects },
  ),
  row(
    '4.10',
    `\`GET /oauth/${slot}/login/callback/\` takes \`code\` and signs the person in`,
    (world) => expectSignIn(world, slot),
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
      expectRejected(left, 400, 'invalid_request');
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

const handOff: readonly SpecificationRow[] = [
  row(
    '4.10',
    '`GET /auth/sso/complete` finishes a sign-in on a reseller’s portal with a token that works once',
    async (world) => {
      const { path, bindingCookie: kept } = await completeHandOff(world);
      expect(path.startsWith('/auth/sso/complete?token='), `the way back: ${path}`);
      const answer = await requestFromReseller(world, path, kept);
      equal(answer.status, 303, 'the first use');
      const statusResponse = await requestFromReseller(
        world,
        '/api/legal/status',
        cookieText(answer.headers),
      );
      equal(statusResponse.status, 200, 'a session on the portal');
      equal((await requestFromReseller(world, path, kept)).status, 401, 'the second use');
    },
    { decided: redirects },
  ),
  row('4.10', '`token` of `GET /auth/sso/complete` may be left out: its default is empty', async (world) => {
    for (const query of ['', '?token='])
      expectRejected(await world.anonymous.get(`/auth/sso/complete${query}`), 401, 'invalid_token');
  }),
  row('4.10', '`GET /auth/sso/complete` answers an invalid `token` with 422', async (world) =>
    expectInvalid(await world.anonymous.get('/auth/sso/complete?token=a&token=b'), 'query', 'token'),
  ),
];

const terms: readonly SpecificationRow[] = [
  row(
    '4.10',
    '`POST /auth/accept-tos` accepts the terms for a person who signs up through a provider',
    async (world) => {
      const answer = await world.anonymous.post('/auth/accept-tos', { json: { terms: true } });
      okJson(answer);
      expectRejected(await world.anonymous.post('/auth/accept-tos', { json: {} }), 403, 'tos_not_accepted');
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
      const withoutTerms = await followCallback(world, 'idp1', await leaveForProvider(world, 'idp1', false));
      equal(withoutTerms.headers.get('location'), '/signup?notice=terms', 'without the acceptance');
      const withTerms = await followCallback(world, 'idp1', await leaveForProvider(world, 'idp1'));
      const client = world.anonymous.with({ cookie: cookiesOf(withTerms) });
      equal(okJson(await client.get('/api/legal/status'))['accepted'], true, 'with it');
    },
  ),
];

const signInRows: readonly SpecificationRow[] = [
  row('5.2.1', 'People sign in through the first external provider', (world) => expectSignIn(world, 'idp1')),
  row('5.2.1', 'People sign in through the second external provider', (world) => expectSignIn(world, 'idp2')),
  row('5.2.1', 'People sign in on a reseller’s portal by the token of a hand-off', async (world) => {
    const { path, bindingCookie: kept } = await completeHandOff(world);
    const { status, headers } = await requestFromReseller(world, path, kept);
    equal(status, 303, 'let in');
    expect(cookieText(headers).includes('svc_session='), 'with a session');
  }),
];

export const providerRows: readonly SpecificationRow[] = [
  ...bySlot('idp1'),
  ...bySlot('idp2'),
  ...handOff,
  ...terms,
  ...signInRows,
];
