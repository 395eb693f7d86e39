import type { IncomingMessage } from 'node:http';
import { fault, parseJsonPolitely } from '../kernel';
import { readBody } from '../platform';

export interface JsonBody {
  readonly bytes: Buffer;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Reads a body below `/v1`: the bytes as they came, and the JSON object in them. */
export async function readJsonBody(request: IncomingMessage, limit: number): Promise<JsonBody> {
  const bytes = await readBody(request, limit);
  const parsed = parseJsonPolitely(bytes);
  const body: unknown = parsed instanceof Promise ? await parsed : parsed;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw fault('invalid_json', { message: 'The request body is not a JSON object.' });
  }
  return { bytes, body: body as Record<string, unknown> };
}
