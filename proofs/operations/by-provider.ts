import { request } from 'node:http';
import { cookiesOf, newAddress } from './accounts';
import { type Answer, expect, expectStatus, jsonOf } from './http';
import { noteExchange } from './traffic';
import { resellerOrigin, type World } from './world';

/** Persons sign in by a provider, at the main address and on a reseller's portal. */

export type Slot = 'idp1' | 'idp2';

export interface Away {
  readonly location: string;
  readonly cookies: string;
}

/** A browser, with the terms accepted or without, that leaves for the provider. */
export async function leave(world: World, slot: Slot, hasAccepted = true): Promise<Away> {
  const terms = hasAccepted ? await acceptTerms(world, slot) : '';
  const away = await world.anonymous.get(`/auth/${slot}`, { headers: { cookie: terms } });
  expectStatus(away, 302);
  return { location: away.headers.get('location') ?? '', cookies: `${terms}; ${cookiesOf(away)}` };
}

async function acceptTerms(world: World, provider: Slot): Promise<string> {
  const accepted = await world.anonymous.post('/auth/accept-tos', { json: { terms: true, provider } });
  expectStatus(accepted, 200);
  return cookiesOf(accepted);
}

const callback = (slot: Slot, query: URLSearchParams): string =>
  `/oauth/${slot}/login/callback/?${query.toString()}`;

/** The address to which the provider sends the person that it recognised. */
export const wayBack = (world: World, slot: Slot, { location }: Away, email = newAddress()): string =>
  callback(slot, world.provider.recognise(location, { subject: email, email }));

export const comeBack = (world: World, slot: Slot, away: Away, email?: string): Promise<Answer> =>
  world.anonymous.get(wayBack(world, slot, away, email), {
    headers: { cookie: away.cookies, accept: 'text/html' },
  });

/** Asks under the reseller's name, which fetch would not send. */
export function askReseller(
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
      const status = answer.statusCode ?? 0;
      noteExchange(world.url, 'GET', path, status);
      resolve({ status, headers: given });
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

/** From the reseller's address to the main one, to the provider, and back to where the reseller's browser goes next. */
export async function handedOff(world: World): Promise<{ path: string; kept: string }> {
  const atReseller = await askReseller(world, '/auth/idp1', '');
  const passedOn = new URL(atReseller.headers.get('location') ?? '');
  const terms = await acceptTerms(world, 'idp1');
  const away = await world.anonymous.get(passedOn.pathname + passedOn.search, { headers: { cookie: terms } });
  const cookies = `${terms}; ${cookiesOf(away)}`;
  const answer = await comeBack(world, 'idp1', { location: away.headers.get('location') ?? '', cookies });
  expect(answer.headers.get('location') === '/login/hand-off', 'the person is asked first');
  const client = world.anonymous.with({ cookie: cookiesOf(answer) });
  const { text } = await client.get('/login/hand-off', { headers: { accept: 'text/html' } });
  const state = /name="state" value="([\w-]+)"/.exec(text)?.[1] ?? '';
  const agreed = await client.post('/auth/sso/hand-off', { json: { state } });
  expectStatus(agreed, 200);
  const home = new URL(String(jsonOf(agreed)['url']));
  expect(home.origin === resellerOrigin, `back to the reseller: ${home.origin}`);
  return { path: home.pathname + home.search, kept: cookieText(atReseller.headers) };
}
