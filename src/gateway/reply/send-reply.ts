import type { ServerResponse } from 'node:http';
import type { Reply } from './reply';
import { setRouteHeaders, settledHeaders } from './svc-headers';

/** Sends a whole answer, with the `x-svc-*` headers on it. */
export function sendReply(response: ServerResponse, reply: Reply): void {
  response.statusCode = reply.status;
  setRouteHeaders(response, reply.facts);
  const settled = settledHeaders(reply.facts);
  for (const name in settled) response.setHeader(name, settled[name]!);
  if (reply.headers !== undefined) response.setHeaders(new Map(Object.entries(reply.headers)));
  response.setHeader('content-type', reply.contentType);
  response.setHeader('content-length', reply.body.length);
  response.end(reply.body);
}
