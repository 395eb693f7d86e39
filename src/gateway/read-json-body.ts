import type { IncomingMessage } from 'node:http';
import { fault, parseJsonPolitely } from '../kernel';
import { readBody } from '../platform';

type Fields = Readonly<Record<string, unknown>>;

export interface JsonBody {
  readonly bytes: Buffer;
  readonly body: Fields;
}

/** Reads a body below `/v1`: the bytes as they came, and the JSON object in them. */
export async function readJsonBody(request: IncomingMessage, limit: number): Promise<JsonBody> {
  const bytes = await readBody(request, limit);
  return { bytes, body: await parseBody(bytes) };
}

/** Only a large body makes it a promise. */
export function parseBody(bytes: Buffer): Fields | Promise<Fields> {
  const parsed = parseJsonPolitely(bytes);
  return parsed instanceof Promise ? parsed.then(fieldsOf) : fieldsOf(parsed);
}

function fieldsOf(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw fault('invalid_json', { message: 'The request body is not a JSON object.' });
}
