/** A body that is meant to keep the event loop busy, and where it goes. */
export interface HostileBody {
  readonly name: string;
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

const MEBIBYTE = 1024 * 1024;
const BODY_BYTES = 20 * MEBIBYTE;
const KEYS = 1_000_000;
const BOUNDARY = 'a-boundary';

const around = (inner: string): Buffer =>
  Buffer.from(`{"model":"chatty","messages":[{"role":"user","content":"Hello"}],"metadata":${inner}}`);

const json = (name: string, bytes: Buffer): HostileBody => ({
  name,
  path: '/v1/chat/completions',
  contentType: 'application/json',
  bytes,
});

/** As often as fits into the size. */
const filled = (piece: string, bytes = BODY_BYTES): string => piece.repeat(Math.floor(bytes / piece.length));

const keys = (): string => Array.from({ length: KEYS }, (_, place) => `"k${place}":1`).join(',');

const question = (content: string): Buffer =>
  Buffer.from(`{"model":"chatty","messages":[{"role":"user","content":"${content}"}]}`);

const form = (name: string, parts: string): HostileBody => ({
  name,
  path: '/v1/audio/transcriptions',
  contentType: `multipart/form-data; boundary=${BOUNDARY}`,
  bytes: Buffer.from(`--${BOUNDARY}\r\n${parts}\r\n--${BOUNDARY}--\r\n`),
});

const part = (name: string, content: string): string =>
  `content-disposition: form-data; name="${name}"\r\n\r\n${content}`;
const file = (content: string): string =>
  `content-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n${content}`;

/** The worst of what a caller with a key may send, each made when it is its turn. */
export const hostileBodies: readonly (() => HostileBody)[] = [
  () =>
    json('20 MB of nested arrays', around(`${filled('[', BODY_BYTES / 2)}${filled(']', BODY_BYTES / 2)}`)),
  () => json('20 MB of nested objects, never closed', around(filled('{"a":'))),
  () => json('a million keys', around(`{${keys()}}`)),
  () => json('20 MB of small numbers', around(`[${filled('1,')}1]`)),
  () => json('20 MB of empty objects', around(`[${filled('{},')}{}]`)),
  () => json('just under the most values', around(`[${'{"a":"b"},'.repeat(95_000)}1]`)),
  () => json('one text of 20 MB', question(filled('words and '))),
  () => json('one text of 20 MB of escapes', question(filled('\\u00e9'))),
  () => json('one text of 20 MB of quotation marks', question(filled('\\"'))),
  () => json('20 MB of backslashes', question(filled('\\\\'))),
  () =>
    json(
      '200,000 messages',
      Buffer.from(`{"model":"chatty","messages":[${'{"role":"user","content":""},'.repeat(200_000)}{}]}`),
    ),
  () => json('20 MB of a token without spaces', question(filled('a'))),
  () => json('20 MB of space', Buffer.from(`{"model":"chatty",${filled(' ')}"messages":[]}`)),
  () => ({
    ...json('a million keys to be counted', around(`{${keys()}}`)),
    path: '/v1/messages/count_tokens',
  }),
  () => ({
    ...json(
      '20 MB to be counted',
      Buffer.from(`{"model":"messenger","messages":[{"role":"user","content":"${filled('a')}"}]}`),
    ),
    path: '/v1/messages/count_tokens',
  }),
  () => form('a form of 20 MB of almost-boundaries', file(filled(`\r\n--a-boundar`))),
  () =>
    form(
      'a form of 100,000 parts',
      Array.from({ length: 100_000 }, () => part('model', 'x')).join(`\r\n--${BOUNDARY}\r\n`),
    ),
];
