import type { IncomingMessage, ServerResponse } from 'node:http';
import { addHeader } from './lean-messages';

/** Headers that scripts of another origin can read, in addition to the body. */
const EXPOSED_HEADERS =
  'x-request-id, x-client-request-id, request-id, retry-after, x-should-retry, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, ' +
  'x-ratelimit-reset-requests, x-svc-supplier, x-svc-region, x-svc-upstream-model, x-svc-failover, x-svc-dropped, x-svc-auto, ' +
  'x-svc-output-cap, x-svc-latency-ms, x-svc-input-tokens, x-svc-output-tokens, x-svc-cost-usd, x-svc-replayed, x-svc-token-count';
const PREFLIGHT_SECONDS = '600';
const headerNames = /^[\w, -]{1,1000}$/;

/** Lets scripts of these origins call the API. Returns true if the request was only a preflight. */
export function handleCrossOrigin(
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
    addHeader(response, 'access-control-expose-headers', EXPOSED_HEADERS);
  }
  if (method !== 'OPTIONS' || methods.length === 0) return false;
  const allowed = [...methods, 'OPTIONS'].join(', ');
  addHeader(response, 'allow', allowed);
  const requestedHeaders = headers['access-control-request-headers'];
  if (isAllowed) {
    addHeader(response, 'access-control-allow-methods', allowed);
    addHeader(response, 'access-control-max-age', PREFLIGHT_SECONDS);
    if (requestedHeaders !== undefined && headerNames.test(requestedHeaders))
      addHeader(response, 'access-control-allow-headers', requestedHeaders);
  }
  response.writeHead(204).end();
  return true;
}
