import type { ServerResponse } from 'node:http';
import { addHeader, addUncheckedHeader } from '../../platform';
import type { Reply } from './reply';
import { setRouteHeaders, settledHeaders } from './svc-headers';

/** A short text is sent in one packet with its head, which outweighs the cost of the conversion. */
const MAX_TEXT_BYTES = 4_096;

export function sendReply(
  response: ServerResponse,
  { status, facts, headers, contentType, body }: Reply,
): void {
  setRouteHeaders(response, facts);
  const settled = settledHeaders(facts);
  for (const name in settled) addUncheckedHeader(response, name, settled[name]!);
  // A replay carries the first response's headers, not those set for this request.
  for (const name in headers) response.setHeader(name, headers[name]!);
  addHeader(response, 'content-type', contentType);
  addUncheckedHeader(response, 'content-length', String(body.length));
  response.writeHead(status);
  // In latin1 every byte maps to one character and back.
  if (body.length <= MAX_TEXT_BYTES) response.end(body.toString('latin1'), 'latin1');
  else response.end(body);
}
