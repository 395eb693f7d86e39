import type { SeededRandom } from '../../../test/system/seeded-random';

/** Placeholder for text that no JSON serialiser produces. */
const rawPlaceholder = (text: string): string => `\u0001raw:${text}\u0001`;

/** Replaces the placeholders with pieces that are invalid or barely valid JSON. */
export const withRawPieces = (json: string): string =>
  json.replace(/"\\u0001raw:(.*?)\\u0001"/g, (_all, text: string) => text);

const plain: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e308,
  5e-324,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\ufeff',
  'NaN',
  'true',
  '-1',
  '__proto__',
  'constructor',
  'toString',
  '../../../../etc/passwd',
  "'; DROP TABLE api_key; --",
  '%%%%',
  '${jndi:ldap://127.0.0.1/x}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  'line\r\nx-injected: 1',
  '<|endoftext|>',
  '𝕳ostile ‮ text',
  [],
  {},
  [[]],
  [null],
  [{}],
  { toString: 1, valueOf: 2, length: -1 },
  { type: 'text' },
  { then: 1 },
];

const rawPieces: readonly string[] = [
  '1e400',
  '-1e400',
  '0.1e-400',
  '123456789012345678901234567890',
  '-0',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '"\\ud800\\udfff"',
  '"\\u0000"',
  '{"a":1,"a":2}',
];

export function hostileValue(chance: SeededRandom): unknown {
  const kind = chance.integer(0, 19);
  if (kind === 0) return 'x'.repeat(1 + chance.integer(0, 99_999));
  if (kind === 1) return nested(1 + chance.integer(0, 89), chance.flip(0.5));
  if (kind === 2) return Array.from({ length: chance.integer(0, 4999) }, () => 1);
  if (kind === 3)
    return Object.fromEntries(Array.from({ length: chance.integer(0, 1999) }, (_, at) => [`k${at}`, at]));
  if (kind === 4)
    return Array.from({ length: chance.integer(0, 299) }, () => ({ role: 'user', content: 'x' }));
  if (kind < 8) return rawPlaceholder(chance.pick(rawPieces));
  return structuredClone(chance.pick(plain));
}

export function nested(levels: number, asArray: boolean): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = asArray ? [value] : { a: value };
  return value;
}

export const hostileNames: readonly string[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  '\u0000',
  'api_base',
  'base_url',
  'extra_headers',
  'headers',
  'x-svc-cost-usd',
  'role',
  'organisation_id',
  'billing_exempt',
  'id',
  'model ',
  'a.b[0]',
  '$ref',
];

export const hostileHeaders: readonly (readonly [string, string])[] = [
  ['content-type', 'text/plain'],
  ['content-type', 'application/xml'],
  ['content-type', 'application/json; charset=utf-16'],
  ['content-type', 'multipart/form-data'],
  ['content-type', 'multipart/form-data; boundary='],
  ['content-type', `multipart/form-data; boundary=${'x'.repeat(500)}`],
  ['content-type', ''],
  ['content-type', ';;;=,'],
  ['content-encoding', 'gzip'],
  ['content-encoding', 'br, gzip, identity'],
  ['accept', 'text/html'],
  ['accept', '*/*;q=nonsense'],
  ['accept-language', 'zz-ZZ,*;q=0'],
  ['authorization', ''],
  ['authorization', 'Bearer'],
  ['authorization', 'Bearer \u00ff\u00fe'],
  ['authorization', "Bearer svc_' OR '1'='1"],
  ['authorization', 'Basic Og=='],
  ['authorization', `Bearer ${'A'.repeat(6_000)}`],
  ['x-api-key', 'svc_other'],
  ['x-api-key', ''],
  ['x-request-id', 'not-an-id'],
  ['x-request-id', '../../x'],
  ['x-session-id', 'x'.repeat(4_000)],
  ['x-session-id', '\u00e9\u00ff'],
  ['idempotency-key', 'x'.repeat(256)],
  ['idempotency-key', ' '],
  ['idempotency-key', 'same'],
  ['anthropic-version', '0000'],
  ['anthropic-beta', ','.repeat(500)],
  ['openai-beta', 'x'],
  ['expect', '100-continue'],
  ['expect', 'the-unexpected'],
  ['upgrade', 'websocket'],
  ['cookie', 'svc_session=%00; =; ;;'],
  ['host', 'evil.example:99999'],
  ['forwarded', 'for=127.0.0.1;host=evil'],
  ['x-forwarded-for', '127.0.0.1, , nonsense'],
  ['x-forwarded-host', 'evil.example'],
  ['x-http-method-override', 'DELETE'],
  ['x-svc-cost-usd', '0'],
  ['range', 'bytes=0-,-1'],
  ['te', 'trailers, deflate'],
  ['traceparent', '00-zz-zz-zz'],
  ['origin', 'null'],
  ['__proto__', 'x'],
  ['constructor', 'x'],
];
