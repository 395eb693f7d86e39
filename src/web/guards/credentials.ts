import type { IncomingHttpHeaders } from 'node:http';
import { fault, type MaybePromise, whenReady } from '../../kernel';
import type { Caller, KeyAuthenticator } from '../../keys';
import type { ClientAddress } from '../client-address';
import type { HttpRequest } from '../http-request';

/** The scheme is case-insensitive. */
const BEARER = /^bearer +(\S+) *$/i;

function bearerOf(headers: IncomingHttpHeaders): string | null {
  const { authorization } = headers;
  if (authorization === undefined) return null;
  const token = BEARER.exec(authorization)?.[1];
  if (token === undefined)
    throw fault('invalid_api_key', { message: 'The Authorization header is not "Bearer <key>".' });
  return token;
}

/** Resolves both headers in one function, so that neither bypasses a check of the other. */
export function keyTextOf(headers: IncomingHttpHeaders, accepts: 'bearer' | 'either'): string {
  const bearer = bearerOf(headers);
  const apiKey = headers['x-api-key'];
  if (Array.isArray(apiKey) || (bearer !== null && apiKey !== undefined && apiKey !== bearer)) {
    throw fault('invalid_request', {
      message: 'The Authorization and x-api-key headers carry different keys.',
      param: 'x-api-key',
    });
  }
  const text = bearer ?? (accepts === 'either' ? apiKey : undefined);
  if (text === undefined) throw fault('missing_api_key');
  return text;
}

/** Only client keys call models: the root key manages keys, and a chat key belongs to the portal's chat. */
export function admitClient(caller: Caller): Caller {
  if (caller.kind === 'root') {
    throw fault('forbidden', { message: 'The root admin key manages keys; it does not call models.' });
  }
  if (caller.kind === 'webchat') throw fault('webchat_key_scope');
  return caller;
}

export const admitChat = (caller: Caller): Caller =>
  caller.kind === 'webchat' ? caller : admitClient(caller);

export function admitRoot(caller: Caller): Caller {
  if (caller.kind !== 'root')
    throw fault('forbidden', { message: 'This operation needs the root admin key.' });
  return caller;
}

/** Returns a boolean without a promise if the key is cached, which is the usual case. */
export function identify(
  gate: KeyAuthenticator,
  addresses: ClientAddress,
  text: string,
  request: HttpRequest,
  admit: (caller: Caller) => Caller,
): MaybePromise<boolean> {
  const accept = (caller: Caller): boolean => {
    request.caller = admit(caller);
    return true;
  };
  return whenReady(
    gate.admit(text, () => addresses.of(request), request.socket),
    accept,
  );
}
