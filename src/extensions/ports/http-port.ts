import type { HttpAnswer, HttpPort, HttpRequest } from '#extension';
import type { OutgoingClient } from '../../platform';

const MAX_BODY_BYTES = 4 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 60_000;
const MAX_CONCURRENT_REQUESTS = 32;
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

/** Creates the port of one extension, with its own limit of concurrent requests. */
export function createHttpPort(client: OutgoingClient): HttpPort {
  let open = 0;
  return {
    async request(request, signal) {
      const validRequest = validateRequest(request);
      signal?.throwIfAborted();
      if (open >= MAX_CONCURRENT_REQUESTS)
        throw new Error(`an extension may have ${MAX_CONCURRENT_REQUESTS} requests open at once`);
      open += 1;
      try {
        const limits = { mostBytes: MAX_BODY_BYTES, deadlineMs: validRequest.timeoutMs };
        return toPortResponse(
          await client.read({ ...validRequest, ...(signal === undefined ? {} : { signal }) }, limits),
        );
      } finally {
        open -= 1;
      }
    },
  };
}

function validateRequest(request: HttpRequest) {
  const { url, method = 'GET', headers = {}, body, timeoutMs = DEFAULT_TIMEOUT_MS } = request;
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
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS)
    throw new RangeError(`timeoutMs is not from 1 to ${MAX_TIMEOUT_MS.toLocaleString('en')}`);
  if (Object.values(headers).some((value) => typeof value !== 'string'))
    throw new TypeError('headers have a value that is no text');
  if (body === undefined) return { url: parsed.href, method, headers, timeoutMs };
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    throw new TypeError('body is neither a text nor bytes');
  const bytes = Buffer.from(body as string);
  if (bytes.length > MAX_BODY_BYTES) throw new RangeError('body has more than 4 MiB');
  return { url: parsed.href, method, headers, timeoutMs, body: bytes };
}

/** Joins repeated headers into one value, as fetch does. */
function toPortResponse({ status, headers, body }: Awaited<ReturnType<OutgoingClient['read']>>): HttpAnswer {
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return { status, headers: Object.fromEntries(fields), body };
}
