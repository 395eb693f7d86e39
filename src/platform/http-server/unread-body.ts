import type { IncomingMessage, ServerResponse } from 'node:http';

/** Maximum accepted of a body that no handler reads. */
const MAX_UNREAD_BYTES = 1024 * 1024;
const CHECKS = 20;

/**
 * Half-closes a connection whose request is still arriving after the response, and discards the rest for a limited
 * time. Node would close it, and the following reset could destroy the response (RFC 9112, 9.6).
 */
export function lingerForRest(
  request: IncomingMessage,
  response: ServerResponse,
  milliseconds: number,
): void {
  const { socket } = request;
  // Node's internal flag: the connection ends with the response.
  const closing = response as unknown as { _last: boolean };
  if (closing._last) {
    closing._last = false;
    socket.end();
  }
  const readBefore = socket.bytesRead;
  let checks = 0;
  const timer = setInterval(() => {
    checks += 1;
    const isLate = checks === CHECKS || socket.bytesRead - readBefore > MAX_UNREAD_BYTES;
    if (!request.complete && isLate) socket.destroy();
    if (request.complete || isLate || socket.destroyed) clearInterval(timer);
  }, milliseconds / CHECKS).unref();
}
