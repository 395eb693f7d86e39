import type { IncomingMessage, ServerResponse } from 'node:http';

/** More than this of a body that no handler reads is not taken in. */
const MOST_UNREAD_BYTES = 1024 * 1024;
const LOOKS = 20;

/**
 * The answer is out, and some of the request is still to come. Where the connection ends with the answer, Node would
 * close it at once, and the reset that follows can take the answer from the client (RFC 9112, 9.6): only our side
 * ends. The rest is thrown away for a while, so that a client that drips does not keep the socket.
 */
export function awaitRest(request: IncomingMessage, response: ServerResponse, milliseconds: number): void {
  const { socket } = request;
  // Node's own: whether the connection ends with the answer.
  const closing = response as unknown as { _last: boolean };
  if (closing._last) {
    closing._last = false;
    socket.end();
  }
  const readBefore = socket.bytesRead;
  let looks = 0;
  const timer = setInterval(() => {
    looks += 1;
    const isLate = looks === LOOKS || socket.bytesRead - readBefore > MOST_UNREAD_BYTES;
    if (!request.complete && isLate) socket.destroy();
    if (request.complete || isLate || socket.destroyed) clearInterval(timer);
  }, milliseconds / LOOKS).unref();
}
