import type { IncomingMessage, ServerResponse } from 'node:http';

/** More than this of a body that no handler reads is not taken in. */
const MOST_UNREAD_BYTES = 1024 * 1024;
const CHECKS = 20;

/**
 * Half-closes a connection whose request is still arriving after the answer. Node would close it, and the following
 * reset could destroy the answer (RFC 9112, 9.6). The rest of the request is discarded for a limited time.
 */
export function awaitRest(request: IncomingMessage, response: ServerResponse, milliseconds: number): void {
  const { socket } = request;
  // Node's own field says whether the connection ends with the answer.
  const closing = response as unknown as { _last: boolean };
  if (closing._last) {
    closing._last = false;
    socket.end();
  }
  const readBefore = socket.bytesRead;
  let checks = 0;
  const timer = setInterval(() => {
    checks += 1;
    const isLate = checks === CHECKS || socket.bytesRead - readBefore > MOST_UNREAD_BYTES;
    if (!request.complete && isLate) socket.destroy();
    if (request.complete || isLate || socket.destroyed) clearInterval(timer);
  }, milliseconds / CHECKS).unref();
}
