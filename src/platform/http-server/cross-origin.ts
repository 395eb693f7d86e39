import type { IncomingMessage, ServerResponse } from 'node:http';
import { addHeader } from './lean-messages';

/** Scripts of another origin may read these headers beside the body. */
const EXPOSED =
  'x-request-id, x-client-request-id, request-id, retry-after, x-should-retry, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, ' +
  'x-ratelimit-reset-requests, x-svc-supplier, x-svc-region, x-svc-upstream-model, x-svc-failover, x-svc-dropped, x-svc-auto, ' +
  'x-svc-output-cap, x-svc-latency-ms, x-svc-input-tokens, x-svc-output-tokens, x-svc-cost-usd, x-svc-replayed, x-svc-token-count';
const PREFLIGHT_SECONDS = '600';
const headerNames = /^[\w, -]{1,1000}$/;

/**
 * Lets scripts of these origins call the API. It returns true where the request was only the question whether
 * they may.
 */
export function crossOrigin(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  origins: readonly string[],
  methods: readonly string[],
): boolean {
  const { origin } = headers;
  const isAllowed = origin !== undefined && (origins.includes('*') || origins.includes(origin));
  if (origins.length > 0) addHeader(response, 'vary', 'origin');
  if (isAllowed) {
    addHeader(response, 'access-control-allow-origin', origin);
    addHeader(response, 'access-control-expose-headers', EXPOSED);
  }
  if (method !== 'OPTIONS' || methods.length === 0) return false;
  const allowed = [...methods, 'OPTIONS'].join(', ');
  addHeader(response, 'allow', allowed);
  const wanted = headers['access-control-request-headers'];
  if (isAllowed) {
    addHeader(response, 'access-control-allow-methods', allowed);
    addHeader(response, 'access-control-max-age', PREFLIGHT_SECONDS);
    if (wanted !== undefined && headerNames.test(wanted))
      addHeader(response, 'access-control-allow-headers', wanted);
  }
  response.writeHead(204).end();
  return true;
}
