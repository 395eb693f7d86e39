import type { IncomingHttpHeaders } from 'node:http';
import type { Complaint, Style } from './complaint';
import type { Route } from './route';

const keyPrefix = 'sim-';

/** Returns the key of a request from whichever header carries it. */
export function keyOf(headers: IncomingHttpHeaders): string {
  const vendorKey = headers['x-api-key'] ?? headers['x-goog-api-key'];
  if (typeof vendorKey === 'string') return vendorKey;
  const bearer = headers.authorization ?? '';
  return bearer.startsWith('Bearer ') ? bearer.slice('Bearer '.length) : '';
}

export function styleOf(route: Route | undefined, path: string, headers: IncomingHttpHeaders): Style {
  if (route !== undefined && route.style !== 'either') return route.style;
  const isMessages = path.startsWith('/v1/messages') || headers['anthropic-version'] !== undefined;
  return isMessages ? 'messages' : 'openai';
}

/** Each style accepts only its own header; the Messages style also accepts a bearer token. */
export function checkAccess(style: Style, headers: IncomingHttpHeaders): Complaint | undefined {
  if (style === 'gemini') {
    return keyOf(headers).startsWith(keyPrefix)
      ? undefined
      : { message: 'API key not valid. Please pass a valid API key.' };
  }
  if (style === 'openai') {
    const authorization = headers.authorization ?? '';
    if (authorization.startsWith(`Bearer ${keyPrefix}`)) return undefined;
    const message =
      authorization === ''
        ? "You didn't provide an API key. Provide it in an Authorization header using Bearer auth."
        : 'Incorrect API key provided.';
    return { status: 401, message, type: 'invalid_request_error', code: 'invalid_api_key' };
  }
  if (!keyOf(headers).startsWith(keyPrefix)) {
    const hasApiKey = headers['x-api-key'] !== undefined;
    return { status: 401, message: hasApiKey ? 'invalid x-api-key' : 'x-api-key header is required' };
  }
  const version = headers['anthropic-version'];
  if (version === undefined) return { message: 'anthropic-version: header is required' };
  return /^\d{4}-\d{2}-\d{2}$/.test(String(version))
    ? undefined
    : { message: `anthropic-version: "${String(version)}" is not a valid version` };
}
