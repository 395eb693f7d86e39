import type { SeededRandom } from '../../../test/system/seeded-random';

export interface OddRequest {
  /** Names the shape and length of the odd part. */
  readonly name: string;
  readonly method: string;
  readonly bytes: Buffer;
}

/** Node accepts 16 KiB of headers; the request line and the usual headers need the remainder. */
const MAX_PART_BYTES = 15_000;

const pieces: readonly string[] = [
  '/',
  '//',
  '/./',
  '/../',
  '/a',
  '/v1',
  '/v1/',
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/messages',
  '/dashboard',
  '/%2f',
  '/%00',
  '/%',
  '%',
  '%20',
  '%C3%A9',
  '\\',
  ';',
  '.',
  '-',
  '_',
  '~',
  '@',
  '#',
  '*',
  '(',
  '[',
  '{{',
  '|',
  '?',
  '&',
  '&a',
  '=',
  '&a=1',
  '&a[]=1',
  '[a]',
  '&a[b][c]=1',
  '+',
  ' ',
  '\t',
  ',',
  ', ',
  '; ',
  '"',
  '""',
  "'",
  '\\"',
  'a',
  'a=',
  'a=b; ',
  'a;q=0.1,',
  'en-US,',
  '*/*,',
  '1.1.1.1, ',
  '::1,',
  '[::1]:1,',
  'Bearer ',
  'bytes=0-1,',
  'W/"a",',
  '00-',
  'a=1,',
  '.a',
  'ſ',
  '1',
  '\u00e9',
];

const headerNames: readonly string[] = [
  'accept',
  'accept-encoding',
  'accept-language',
  'anthropic-beta',
  'anthropic-version',
  'authorization',
  'baggage',
  'content-encoding',
  'content-type',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'hx-current-url',
  'hx-request',
  'hx-target',
  'idempotency-key',
  'if-modified-since',
  'if-none-match',
  'origin',
  'range',
  'referer',
  'sec-fetch-site',
  'stripe-signature',
  'te',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
  'x-api-key',
  'x-client-request-id',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-request-id',
  'x-session-id',
];

/** Prefixes that get a repetition past a first check. */
const prefixes: readonly string[] = [
  '',
  '',
  '',
  'Bearer ',
  'a',
  '00-',
  'text/html;',
  'application/json;',
  '"',
];

const SAME_ORIGIN = 'sec-fetch-site: same-origin';

const URL_ENCODED = 'application/x-www-form-urlencoded';

/** Media types of a body, with the text before and after the odd part. */
const forms: readonly (readonly [type: string, before: string, after: string])[] = [
  [URL_ENCODED, '', ''],
  ...['email', 'password', 'name', 'next', 'token', 'state', 'page'].map(
    (field) => [URL_ENCODED, `email=a@example.com&password=long-enough-1&${field}=`, ''] as const,
  ),
  ['application/json', '', ''],
  ['application/json', '{"email":"', '"}'],
  ['application/json', '{"a":[', ']}'],
  ['multipart/form-data; boundary=a', '--a\r\ncontent-disposition: form-data; name="', '"\r\n\r\n1\r\n--a--'],
  ['text/plain', '', ''],
];

const verbs: readonly string[] = ['GET', 'GET', 'GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];

/** Returns a request without a key whose path, query, body or one header repeats a piece of text. */
export function drawOddRequest(chance: SeededRandom, paths: readonly string[]): OddRequest {
  const part = chance.pick(['path', 'path', 'query', 'query', 'header', 'header', 'header', 'body'] as const);
  const method = part === 'body' ? 'POST' : chance.pick(verbs);
  const [piece, otherPiece] = [chance.pick(pieces), chance.pick(pieces)];
  const maxBytes = chance.pick([200, 2_000, MAX_PART_BYTES, MAX_PART_BYTES]);
  const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');
  const unit = chance.flip(0.3) ? piece + otherPiece : piece;
  const prefix = part === 'header' ? chance.pick(prefixes) : '';
  const end = chance.flip(0.3) ? otherPiece : '';
  const count = Math.floor((maxBytes - prefix.length - end.length) / bytes(unit).length);
  const text = prefix + unit.repeat(count) + end;
  const path = chance.pick(paths);
  const targets = {
    path: chance.flip() ? text.replace(/^(?!\/)/, '/') : path + text,
    query: `${path}?${chance.pick(['', 'next=', 'q=', 'from=', 'cursor=', 'model='])}${text}`,
    header: path,
    body: path,
  };
  const [type, before, after] = chance.pick(forms);
  const body = bytes(part === 'body' ? before + text + after : '');
  const name = part === 'header' ? chance.pick(headerNames) : part;
  const headers = [
    ...(name === 'host' ? [] : ['host: 127.0.0.1']),
    ...(name === 'accept' || chance.flip() ? [] : ['accept: text/html']),
    ...(part === 'header' ? [`${name}: ${text}`] : []),
    ...(part === 'body' ? [`content-type: ${type}`, `content-length: ${body.length}`, SAME_ORIGIN] : []),
  ];
  // A space or a tab would end the request target.
  const target = targets[part].replaceAll(' ', '%20').replaceAll('\t', '%09');
  return {
    name: `${method} ${part === 'path' ? '' : `${path} `}${name} ${JSON.stringify(prefix + unit)} × ${count} ${end}`,
    method,
    bytes: Buffer.concat([bytes(`${method} ${target} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`), body]),
  };
}
