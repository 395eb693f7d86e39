import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Credential, ProviderView } from '../../../catalogue';
import { fault } from '../../../kernel';
import type { PreparedBody } from './body';
import type { StyleCall, PreparedStyleCall } from './style';

const version = /\/v\d+\w*$/;

/**
 * URL of an endpoint. A base URL that ends in a version is used unchanged; otherwise the prefix of the provider's
 * settings, or the style's, is inserted.
 */
export function endpoint(provider: ProviderView, prefix: string, path: string): URL {
  let urlsOfProvider = urlCache.get(provider);
  if (urlsOfProvider === undefined)
    urlCache.set(provider, (urlsOfProvider = new Map<string, Map<string, URL>>()));
  let urlsOfPath = urlsOfProvider.get(path);
  if (urlsOfPath === undefined) urlsOfProvider.set(path, (urlsOfPath = new Map<string, URL>()));
  let url = urlsOfPath.get(prefix);
  if (url === undefined) urlsOfPath.set(prefix, (url = buildUrl(provider, prefix, path)));
  return url;
}

/**
 * URLs by path and prefix, cached because parsing dominates the cost of a request. A changed provider has a new view.
 */
const urlCache = new WeakMap<ProviderView, Map<string, Map<string, URL>>>();

function buildUrl({ baseUrl, settings }: ProviderView, prefix: string, path: string): URL {
  const base = baseUrl.replace(/\/+$/, '');
  const configuredPrefix = typeof settings.prefix === 'string' ? settings.prefix : undefined;
  return new URL(base + (configuredPrefix ?? (version.test(base) ? '' : prefix)) + path);
}

/** Tracing headers, which say nothing about the caller. */
const tracingHeaders = ['traceparent', 'tracestate'];

export function forwardedHeaders(
  headers: IncomingHttpHeaders,
  names: readonly string[],
): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const name of tracingHeaders) forwardHeader(headers, name, forwarded);
  for (const name of names) forwardHeader(headers, name, forwarded);
  return forwarded;
}

function forwardHeader(headers: IncomingHttpHeaders, name: string, forwarded: Record<string, string>): void {
  const value = headers[name];
  if (value !== undefined) forwarded[name] = Array.isArray(value) ? value.join(', ') : value;
}

/** `keyHeader` is the header for a secret that is not a bearer token. */
export function authorisation(credential: Credential | null, keyHeader: string): Record<string, string> {
  switch (credential?.kind) {
    case undefined:
      return {};
    case 'bearer':
      return { authorization: `Bearer ${credential.token}` };
    case 'oauth-pool':
      return { authorization: `Bearer ${credential.accessToken}` };
    case 'header':
      return { [keyHeader]: credential.value };
    case 'sigv4':
      throw fault('configuration_error', { message: 'This supplier takes no signing keys.' });
  }
}

export function prepareCall(
  call: StyleCall,
  url: URL,
  { bytes, contentType, dropped }: PreparedBody,
  headers: Record<string, string>,
): PreparedStyleCall {
  setSessionHeader(call, headers);
  headers['content-type'] = contentType;
  headers['content-length'] = String(bytes.length);
  headers.accept = call.stream ? 'text/event-stream' : canBeRaw(call) ? '*/*' : 'application/json';
  return { url, method: 'POST', headers, body: bytes, dropped };
}

/** Whether the response can be audio, or a transcript as plain text. */
const canBeRaw = ({ operation, body }: StyleCall): boolean => operation === 'speech' || body.kind === 'form';

/** Some suppliers and load balancers keep a conversation near its cache if a header names it. */
function setSessionHeader({ lane, sessionKey }: StyleCall, headers: Record<string, string>): void {
  const { session_header: name } = lane.provider.settings;
  if (sessionKey === null || typeof name !== 'string') return;
  // A session's name is private to the caller and the gateway.
  headers[name.toLowerCase()] = hash('sha256', sessionKey).slice(0, 32);
}
