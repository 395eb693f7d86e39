import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Settings } from '../platform';

const isSecure = (settings: Settings): boolean => settings.baseUrl.startsWith('https:');

/** The `__Host-` prefix makes browsers refuse the cookie from anywhere else, also from subdomains; it needs https. */
export const privateCookieName = (settings: Settings, name: string): string =>
  isSecure(settings) ? `__Host-${name}` : name;

export const sessionCookieName = (settings: Settings): string => privateCookieName(settings, 'svc_session');

export function cookieOf(headers: IncomingHttpHeaders, name: string): string | null {
  for (const pair of headers.cookie?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals !== -1 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return null;
}

export interface CookieOptions {
  readonly maxAgeSeconds?: number;
  readonly readableByScripts?: boolean;
}

export function setCookie(
  settings: Settings,
  name: string,
  value: string,
  options: CookieOptions = {},
): string {
  return [
    `${name}=${value}`,
    'Path=/',
    'SameSite=Lax',
    ...(options.readableByScripts === true ? [] : ['HttpOnly']),
    ...(isSecure(settings) ? ['Secure'] : []),
    ...(options.maxAgeSeconds === undefined ? [] : [`Max-Age=${options.maxAgeSeconds}`]),
  ].join('; ');
}

/** It adds to the cookies that the answer sets already. A maximal age of 0 takes the cookie away. */
export function addCookie(
  response: ServerResponse,
  settings: Settings,
  name: string,
  value: string,
  maxAgeSeconds: number,
): void {
  response.appendHeader('set-cookie', setCookie(settings, name, value, { maxAgeSeconds }));
}
