import type { IncomingMessage } from 'node:http';
import { fault, type JsonObjectText, readJsonObject } from '../../kernel';
import { readBody } from '../../platform';

const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;

/** Reads a body below `/v1`: the bytes as they came, and the JSON object in them. */
export async function readJsonBody(request: IncomingMessage, limit: number): Promise<JsonObjectText> {
  const type = request.headers['content-type'];
  if (type !== undefined && !JSON_TYPE.test(type))
    throw fault('unsupported_media_type', { message: 'The body of this route is JSON.' });
  return readJsonObject(await readBody(request, limit));
}
