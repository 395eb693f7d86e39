import type { IncomingHttpHeaders } from 'node:http';
import { fault, monotonicMs, parseJsonPolitely } from '../../kernel';
import type { Caller } from '../../keys';
import { readBody } from '../../platform';
import type { HttpRequest } from '../../web';

/** A request as it came: the bytes untouched, and the JSON understood once beside them. */
export interface Inbound {
  readonly requestId: string;
  readonly receivedAt: Date;
  readonly startedMs: number;
  readonly caller: Caller;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function intake(request: HttpRequest, caller: Caller, bodyLimit: number): Promise<Inbound> {
  const startedMs = monotonicMs();
  const receivedAt = new Date();
  const bytes = await readBody(request, bodyLimit);
  const parsed = parseJsonPolitely(bytes);
  const body: unknown = parsed instanceof Promise ? await parsed : parsed;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw fault('invalid_json', { message: 'The request body is not a JSON object.' });
  }
  return {
    requestId: request.requestId,
    receivedAt,
    startedMs,
    caller,
    headers: request.headers,
    bytes,
    body: body as Record<string, unknown>,
  };
}
