import type { IncomingMessage } from 'node:http';
import { type JsonObjectText, readJsonObject } from '../kernel';
import { readBody } from '../platform';

/** Reads a body below `/v1`: the bytes as they came, and the JSON object in them. */
export const readJsonBody = async (request: IncomingMessage, limit: number): Promise<JsonObjectText> =>
  readJsonObject(await readBody(request, limit));
