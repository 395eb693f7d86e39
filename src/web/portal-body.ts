import type { ServerResponse } from 'node:http';
import { fault, parseJsonPolitely } from '../kernel';
import { readBody } from '../platform';
import { type HttpRequest, pathOf } from './http-request';

type Next = (error?: unknown) => void;

/**
 * Reads bodies for everything but the gateway, whose pipeline keeps the bytes as they came, and uploads. The bytes
 * stay beside the parsed form: a webhook's signature is over them.
 */
export function portalBody(limit: number) {
  return (request: HttpRequest, _response: ServerResponse, next: Next): void => {
    if (!hasBody(request) || /^\/v\d+(\/|$)/.test(pathOf(request))) {
      next();
      return;
    }
    readBody(request, limit)
      .then(async (bytes) => {
        request.rawBody = bytes;
        request.body = await parse(bytes, mediaTypeOf(request));
        next();
      })
      .catch(next);
  };
}

const hasBody = ({ headers }: HttpRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

const mediaTypeOf = ({ headers }: HttpRequest): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

function parse(bytes: Buffer, mediaType: string): unknown {
  switch (mediaType) {
    case 'application/json':
      return parseJsonPolitely(bytes);
    case 'application/x-www-form-urlencoded':
      return parseForm(bytes);
    default:
      throw fault('unsupported_media_type');
  }
}

const MAX_FIELDS = 1_000;

/** A field that comes more than once becomes a list; names never reach a prototype. */
function parseForm(bytes: Buffer): Record<string, string | string[]> {
  const form = Object.create(null) as Record<string, string | string[]>;
  let fields = 0;
  for (const [name, value] of new URLSearchParams(bytes.toString('utf8'))) {
    fields += 1;
    if (fields > MAX_FIELDS)
      throw fault('invalid_request', { message: `A form has at most ${MAX_FIELDS} fields.` });
    const earlier = form[name];
    form[name] =
      earlier === undefined ? value : Array.isArray(earlier) ? [...earlier, value] : [earlier, value];
  }
  return form;
}
