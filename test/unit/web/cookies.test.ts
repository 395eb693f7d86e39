import type { Settings } from '../../../src/platform';
import { cookieOf, sessionCookieName, setCookie } from '../../../src/web';

const behind = (baseUrl: string) => ({ baseUrl }) as Settings;
const secure = behind('https://portal.example');
const plain = behind('http://localhost:3000');

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
])('in %j, %s is %j', (cookie, name, value) => {
  expect(cookieOf({ cookie }, name)).toBe(value);
});

test('no header, no cookie', () => {
  expect(cookieOf({}, 'a')).toBeNull();
});

test('behind https a session cookie is bound to its host and never leaves it unencrypted', () => {
  expect(setCookie(secure, sessionCookieName(secure), 'token')).toBe(
    '__Host-svc_session=token; Path=/; SameSite=Lax; HttpOnly; Secure',
  );
});

test('without https it has to do without', () => {
  expect(setCookie(plain, sessionCookieName(plain), 'token', { maxAgeSeconds: 60 })).toBe(
    'svc_session=token; Path=/; SameSite=Lax; HttpOnly; Max-Age=60',
  );
  expect(setCookie(plain, 'choice', 'x', { readableByScripts: true })).toBe('choice=x; Path=/; SameSite=Lax');
});
