/** A body built to block the event loop, and its path. */
export interface HostileBody {
  readonly name: string;
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

const MEBIBYTE = 1024 * 1024;
const BODY_BYTES = 20 * MEBIBYTE;
const KEY_COUNT = 1_000_000;
const BOUNDARY = 'a-boundary';

const wrapInRequest = (inner: string): Buffer =>
  Buffer.from(`{"model":"chatty","messages":[{"role":"user","content":"Hello"}],"metadata":${inner}}`);

const json = (name: string, bytes: Buffer): HostileBody => ({
  name,
  path: '/v1/chat/completions',
  contentType: 'application/json',
  bytes,
});

/** Repeats a piece as often as it fits into the size. */
const repeatToSize = (piece: string, bytes = BODY_BYTES): string =>
  piece.repeat(Math.floor(bytes / piece.length));

const keys = (): string => Array.from({ length: KEY_COUNT }, (_, index) => `"k${index}":1`).join(',');

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

/** Worst bodies that a caller with a key is allowed to send, each created lazily. */
export const hostileBodies: readonly (() => HostileBody)[] = [
  () =>
    json(
      '20 MB of nested arrays',
      wrapInRequest(`${repeatToSize('[', BODY_BYTES / 2)}${repeatToSize(']', BODY_BYTES / 2)}`),
    ),
  () => json('20 MB of nested objects, never closed', wrapInRequest(repeatToSize('{"a":'))),
  () => json('a million keys', wrapInRequest(`{${keys()}}`)),
  () => json('20 MB of small numbers', wrapInRequest(`[${repeatToSize('1,')}1]`)),
  () => json('20 MB of empty objects', wrapInRequest(`[${repeatToSize('{},')}{}]`)),
  () => json('just under the most values', wrapInRequest(`[${'{"a":"b"},'.repeat(95_000)}1]`)),
  () => json('one text of 20 MB', question(repeatToSize('words and '))),
  () => json('one text of 20 MB of escapes', question(repeatToSize('\\u00e9'))),
  () => json('one text of 20 MB of quotation marks', question(repeatToSize('\\"'))),
  () => json('20 MB of backslashes', question(repeatToSize('\\\\'))),
  () =>
    json(
      '200,000 messages',
      Buffer.from(`{"model":"chatty","messages":[${'{"role":"user","content":""},'.repeat(200_000)}{}]}`),
    ),
  () => json('20 MB of a token without spaces', question(repeatToSize('a'))),
  () => json('20 MB of space', Buffer.from(`{"model":"chatty",${repeatToSize(' ')}"messages":[]}`)),
  () => ({
    ...json('a million keys to be counted', wrapInRequest(`{${keys()}}`)),
    path: '/v1/messages/count_tokens',
  }),
  () => ({
    ...json(
      '20 MB to be counted',
      Buffer.from(`{"model":"messenger","messages":[{"role":"user","content":"${repeatToSize('a')}"}]}`),
    ),
    path: '/v1/messages/count_tokens',
  }),
  () => form('a form of 20 MB of almost-boundaries', file(repeatToSize(`\r\n--a-boundar`))),
  () =>
    form(
      'a form of 100,000 parts',
      Array.from({ length: 100_000 }, () => part('model', 'x')).join(`\r\n--${BOUNDARY}\r\n`),
    ),
];
