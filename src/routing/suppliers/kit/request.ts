import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Credential, ProviderView } from '../../../catalogue';
import { fault } from '../../../kernel';
import type { PreparedBody } from './body';
import type { OutgoingCall, PreparedCall } from './style';

const version = /\/v\d+\w*$/;

/**
 * The address of an endpoint. A base address that ends in a version is used as it is. Otherwise the style's prefix,
 * or that of the provider's settings, comes between.
 */
export function endpoint(provider: ProviderView, prefix: string, path: string): URL {
  let ofProvider = addresses.get(provider);
  if (ofProvider === undefined) addresses.set(provider, (ofProvider = new Map<string, Map<string, URL>>()));
  let ofPath = ofProvider.get(path);
  if (ofPath === undefined) ofProvider.set(path, (ofPath = new Map<string, URL>()));
  let url = ofPath.get(prefix);
  if (url === undefined) ofPath.set(prefix, (url = readAddress(provider, prefix, path)));
  return url;
}

/**
 * Addresses are found by path and prefix. Parsing one costs more than everything else that is done with it. A changed
 * provider is a new view.
 */
const addresses = new WeakMap<ProviderView, Map<string, Map<string, URL>>>();

function readAddress({ baseUrl, settings }: ProviderView, prefix: string, path: string): URL {
  const base = baseUrl.replace(/\/+$/, '');
  const own = typeof settings.prefix === 'string' ? settings.prefix : undefined;
  return new URL(base + (own ?? (version.test(base) ? '' : prefix)) + path);
}

/** These belong to tracing; they say nothing about the caller. */
const alwaysPassing = ['traceparent', 'tracestate'];

export function passing(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of alwaysPassing) pass(headers, name, passed);
  for (const name of names) pass(headers, name, passed);
  return passed;
}

function pass(headers: IncomingHttpHeaders, name: string, passed: Record<string, string>): void {
  const value = headers[name];
  if (value !== undefined) passed[name] = Array.isArray(value) ? value.join(', ') : value;
}

/** `keyHeader` takes a secret that is not a bearer token. */
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

export function prepared(
  call: OutgoingCall,
  url: URL,
  { bytes, contentType, dropped }: PreparedBody,
  headers: Record<string, string>,
): PreparedCall {
  setSessionHeader(call, headers);
  headers['content-type'] = contentType;
  headers['content-length'] = String(bytes.length);
  headers.accept = call.stream ? 'text/event-stream' : mayBeRaw(call) ? '*/*' : 'application/json';
  return { url, method: 'POST', headers, body: bytes, dropped };
}

/** The answer may be sound, or a transcript as plain text. */
const mayBeRaw = ({ operation, body }: OutgoingCall): boolean =>
  operation === 'speech' || body.kind === 'form';

/** Some suppliers and balancers keep a conversation near its cache when a header names it. */
function setSessionHeader({ lane, sessionKey }: OutgoingCall, headers: Record<string, string>): void {
  const { session_header: name } = lane.provider.settings;
  if (sessionKey === null || typeof name !== 'string') return;
  // A session's name is private to the caller and the gateway.
  headers[name.toLowerCase()] = hash('sha256', sessionKey).slice(0, 32);
}
