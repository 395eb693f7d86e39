import type { HttpAnswer, HttpPort, HttpRequest } from '#extension';
import type { OutgoingClient } from '../../platform';

const MOST_BYTES = 4 * 1024 * 1024;
const USUAL_TIMEOUT_MS = 10_000;
const LONGEST_TIMEOUT_MS = 60_000;
const MOST_AT_ONCE = 32;
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

/** Every extension has its own bound of open requests. */
export function httpPort(client: OutgoingClient): HttpPort {
  let open = 0;
  return {
    async request(request, signal) {
      const sent = checked(request);
      signal?.throwIfAborted();
      if (open >= MOST_AT_ONCE)
        throw new Error(`an extension may have ${MOST_AT_ONCE} requests open at once`);
      open += 1;
      try {
        const bounds = { mostBytes: MOST_BYTES, deadlineMs: sent.timeoutMs };
        return answerOf(await client.read({ ...sent, ...(signal === undefined ? {} : { signal }) }, bounds));
      } finally {
        open -= 1;
      }
    },
  };
}

function checked(request: HttpRequest) {
  const { url, method = 'GET', headers = {}, body, timeoutMs = USUAL_TIMEOUT_MS } = request;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (
    parsed === null ||
    !/^https?:$/.test(parsed.protocol) ||
    parsed.username !== '' ||
    parsed.password !== ''
  )
    throw new RangeError(
      'url is no address that begins with https:// or http://, without a name and a password',
    );
  if (!METHODS.includes(method)) throw new RangeError(`method is none of ${METHODS.join(', ')}`);
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > LONGEST_TIMEOUT_MS)
    throw new RangeError(`timeoutMs is not from 1 to ${LONGEST_TIMEOUT_MS.toLocaleString('en')}`);
  if (Object.values(headers).some((value) => typeof value !== 'string'))
    throw new TypeError('headers have a value that is no text');
  if (body === undefined) return { url: parsed.href, method, headers, timeoutMs };
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    throw new TypeError('body is neither a text nor bytes');
  const bytes = Buffer.from(body as string);
  if (bytes.length > MOST_BYTES) throw new RangeError('body has more than 4 MiB');
  return { url: parsed.href, method, headers, timeoutMs, body: bytes };
}

/** A field that came several times is one text, as fetch gives it. */
function answerOf({ status, headers, body }: Awaited<ReturnType<OutgoingClient['read']>>): HttpAnswer {
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return { status, headers: Object.fromEntries(fields), body };
}
