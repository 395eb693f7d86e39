import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Settings } from '../platform';

const isSecure = (settings: Settings): boolean => settings.baseUrl.startsWith('https:');

/** Browsers accept a `__Host-` cookie only from the same host, not from subdomains; the prefix needs https. */
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

/** Appends a cookie to those already set; a `maxAgeSeconds` of 0 deletes the cookie. */
export function addCookie(
  response: ServerResponse,
  settings: Settings,
  name: string,
  value: string,
  maxAgeSeconds: number,
): void {
  response.appendHeader('set-cookie', setCookie(settings, name, value, { maxAgeSeconds }));
}
