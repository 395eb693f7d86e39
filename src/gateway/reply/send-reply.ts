import type { ServerResponse } from 'node:http';
import { addHeader, addUncheckedHeader } from '../../platform';
import type { Reply } from './reply';
import { setRouteHeaders, settledHeaders } from './svc-headers';

/** A text goes out in one piece with its head, which for a short body is worth more than what it takes to make one. */
const SHORT_BYTES = 4_096;

/** Sends a whole answer, with the `x-svc-*` headers on it. */
export function sendReply(
  response: ServerResponse,
  { status, facts, headers, contentType, body }: Reply,
): void {
  setRouteHeaders(response, facts);
  const settled = settledHeaders(facts);
  for (const name in settled) addUncheckedHeader(response, name, settled[name]!);
  // A replay carries the first answer's headers, not those noted for this request.
  for (const name in headers) response.setHeader(name, headers[name]!);
  addHeader(response, 'content-type', contentType);
  addUncheckedHeader(response, 'content-length', String(body.length));
  response.writeHead(status);
  // In latin1 every byte is one character, and the same byte again.
  if (body.length <= SHORT_BYTES) response.end(body.toString('latin1'), 'latin1');
  else response.end(body);
}
