import { request } from 'node:http';
import { cookiesOf, newAddress } from './accounts';
import { type ReadResponse, expect, expectStatus, jsonOf } from './http';
import { recordExchange } from './traffic';
import { resellerOrigin, type World } from './world';

/** Signs in users through an identity provider, at the main address and on a reseller's portal. */

export type Slot = 'idp1' | 'idp2';

export interface ProviderRedirect {
  readonly location: string;
  readonly cookies: string;
}

/** Leaves for the provider in a browser, with or without accepted terms. */
export async function leaveForProvider(
  world: World,
  slot: Slot,
  hasAccepted = true,
): Promise<ProviderRedirect> {
  const terms = hasAccepted ? await acceptTerms(world, slot) : '';
  const redirect = await world.anonymous.get(`/auth/${slot}`, { headers: { cookie: terms } });
  expectStatus(redirect, 302);
  return { location: redirect.headers.get('location') ?? '', cookies: `${terms}; ${cookiesOf(redirect)}` };
}

async function acceptTerms(world: World, provider: Slot): Promise<string> {
  const acceptResponse = await world.anonymous.post('/auth/accept-tos', { json: { terms: true, provider } });
  expectStatus(acceptResponse, 200);
  return cookiesOf(acceptResponse);
}

const callback = (slot: Slot, query: URLSearchParams): string =>
  `/oauth/${slot}/login/callback/?${query.toString()}`;

/** Callback URL to which the provider sends the recognised user. */
export const callbackUrl = (
  world: World,
  slot: Slot,
  { location }: ProviderRedirect,
  email = newAddress(),
): string => callback(slot, world.provider.recognise(location, { subject: email, email }));

export const followCallback = (
  world: World,
  slot: Slot,
  redirect: ProviderRedirect,
  email?: string,
): Promise<ReadResponse> =>
  world.anonymous.get(callbackUrl(world, slot, redirect, email), {
    headers: { cookie: redirect.cookies, accept: 'text/html' },
  });

/** Sends a request under the reseller's host name, which fetch cannot send. */
export function requestFromReseller(
  world: World,
  path: string,
  cookie: string,
): Promise<{ status: number; headers: Headers }> {
  return new Promise((resolve, reject) => {
    const headers = { host: new URL(resellerOrigin).host, ...(cookie !== '' && { cookie }) };
    request(new URL(path, world.url), { headers, timeout: 20_000 }, (answer) => {
      answer.resume();
      const responseHeaders = new Headers();
      if (answer.headers.location !== undefined) responseHeaders.set('location', answer.headers.location);
      for (const line of answer.headers['set-cookie'] ?? []) responseHeaders.append('set-cookie', line);
      const status = answer.statusCode ?? 0;
      recordExchange(world.url, 'GET', path, status);
      resolve({ status, headers: responseHeaders });
    })
      .on('error', reject)
      .end();
  });
}

export const cookieText = (headers: Headers): string =>
  headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');

/** Goes from the reseller's address to the main one, to the provider, and back to the reseller's next URL. */
export async function completeHandOff(world: World): Promise<{ path: string; bindingCookie: string }> {
  const resellerResponse = await requestFromReseller(world, '/auth/idp1', '');
  const mainUrl = new URL(resellerResponse.headers.get('location') ?? '');
  const terms = await acceptTerms(world, 'idp1');
  const redirect = await world.anonymous.get(mainUrl.pathname + mainUrl.search, {
    headers: { cookie: terms },
  });
  const cookies = `${terms}; ${cookiesOf(redirect)}`;
  const answer = await followCallback(world, 'idp1', {
    location: redirect.headers.get('location') ?? '',
    cookies,
  });
  expect(answer.headers.get('location') === '/login/hand-off', 'the user has to agree first');
  const client = world.anonymous.with({ cookie: cookiesOf(answer) });
  const { text } = await client.get('/login/hand-off', { headers: { accept: 'text/html' } });
  const state = /name="state" value="([\w-]+)"/.exec(text)?.[1] ?? '';
  const consentResponse = await client.post('/auth/sso/hand-off', { json: { state } });
  expectStatus(consentResponse, 200);
  const returnUrl = new URL(String(jsonOf(consentResponse)['url']));
  expect(returnUrl.origin === resellerOrigin, `back to the reseller: ${returnUrl.origin}`);
  return { path: returnUrl.pathname + returnUrl.search, bindingCookie: cookieText(resellerResponse.headers) };
}
