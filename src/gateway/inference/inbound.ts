import type { IncomingHttpHeaders } from 'node:http';
import { monotonicMs } from '../../kernel';
import type { Caller } from '../../keys';
import type { HttpRequest } from '../../web';
import { type JsonBody, readJsonBody } from '../read-json-body';

/** A request as it came: the bytes untouched, and the JSON understood once beside them. */
export interface Inbound extends JsonBody {
  readonly requestId: string;
  readonly startedMs: number;
  readonly caller: Caller;
  readonly headers: IncomingHttpHeaders;
}

export async function intake(request: HttpRequest, caller: Caller, bodyLimit: number): Promise<Inbound> {
  const startedMs = monotonicMs();
  const { bytes, body } = await readJsonBody(request, bodyLimit);
  return { requestId: request.requestId, startedMs, caller, headers: request.headers, bytes, body };
}
