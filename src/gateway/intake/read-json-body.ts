import type { IncomingMessage } from 'node:http';
import { fault, type ParsedJsonObject, readJsonObject } from '../../kernel';
import { readBody, type Settings } from '../../platform';

const JSON_TYPE = 'application/json';
const ANY_JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;

export function requireJson({ headers }: IncomingMessage, { acceptAnyContentType }: Settings): void {
  const type = headers['content-type'];
  if (type === JSON_TYPE || acceptAnyContentType || ANY_JSON_TYPE.test(type ?? '')) return;
  throw fault('unsupported_media_type', {
    message: `Send this body with "content-type: ${JSON_TYPE}"${type === undefined ? '; it has none' : ''}.`,
  });
}

export async function readJsonBody(request: IncomingMessage, settings: Settings): Promise<ParsedJsonObject> {
  requireJson(request, settings);
  return readJsonObject(await readBody(request, settings.portalBodyLimitBytes));
}
