import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** More than this of a body that no handler reads is not taken in. */
const MOST_UNREAD_BYTES = 1024 * 1024;
const LOOKS = 20;

/**
 * The answer is out, and some of the request is still to come. Node throws that away without a deadline: a client that
 * drips would keep the socket for ever.
 */
export function awaitRest(request: IncomingMessage, socket: Socket, milliseconds: number): void {
  const readBefore = socket.bytesRead;
  let looks = 0;
  const timer = setInterval(() => {
    looks += 1;
    const isLate = looks === LOOKS || socket.bytesRead - readBefore > MOST_UNREAD_BYTES;
    if (!request.complete && isLate) socket.destroy();
    if (request.complete || isLate || socket.destroyed) clearInterval(timer);
  }, milliseconds / LOOKS).unref();
}
