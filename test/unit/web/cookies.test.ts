import type { Settings } from '../../../src/platform';
import { cookieOf, sessionCookieName, setCookie } from '../../../src/web';

const settingsFor = (baseUrl: string) => ({ baseUrl }) as Settings;
const httpsSettings = settingsFor('https://portal.example');
const httpSettings = settingsFor('http://localhost:3000');

test.each([
  ['a=1', 'a', '1'],
  ['b=2; a=1', 'a', '1'],
  ['b=2;a=1;c', 'a', '1'],
  ['  a = 1 ', 'a', '1'],
  ['a=1; a=2', 'a', '1'],
  ['a=x=y==', 'a', 'x=y=='],
  ['a=', 'a', ''],
  ['ba=1', 'a', null],
  ['a', 'a', null],
  ['A=1', 'a', null],
  ['', 'a', null],
  ['=1', 'a', null],
  ['__proto__=1', '__proto__', '1'],
])('cookie header %j: value of %s is %j', (cookie, name, value) => {
  expect(cookieOf({ cookie }, name)).toBe(value);
});

test('missing cookie header yields no value', () => {
  expect(cookieOf({}, 'a')).toBeNull();
});

test('session cookie is host-bound and secure over https', () => {
  expect(setCookie(httpsSettings, sessionCookieName(httpsSettings), 'token')).toBe(
    '__Host-svc_session=token; Path=/; SameSite=Lax; HttpOnly; Secure',
  );
});

test('session cookie has no host prefix without https', () => {
  expect(setCookie(httpSettings, sessionCookieName(httpSettings), 'token', { maxAgeSeconds: 60 })).toBe(
    'svc_session=token; Path=/; SameSite=Lax; HttpOnly; Max-Age=60',
  );
  expect(setCookie(httpSettings, 'choice', 'x', { readableByScripts: true })).toBe(
    'choice=x; Path=/; SameSite=Lax',
  );
});
