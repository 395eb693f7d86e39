import type { ServerResponse } from 'node:http';
import type { Reply } from './reply';
import { svcHeaders } from './svc-headers';

/** Sends a whole answer, with the `x-svc-*` headers on it. */
export function sendReply(response: ServerResponse, reply: Reply): void {
  response.statusCode = reply.status;
  for (const [name, value] of Object.entries(svcHeaders(reply.facts))) response.setHeader(name, value);
  if (reply.headers !== undefined) response.setHeaders(new Map(Object.entries(reply.headers)));
  response.setHeader('content-type', reply.contentType);
  response.setHeader('content-length', reply.body.length);
  response.end(reply.body);
}
