import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Fault, fault, renderGateway, uuidv7 } from '../../kernel';

/**
 * Responds to connections without a valid request: bad framing, headers too large or too slow. An unfinished earlier
 * response is cut rather than corrupted; returns the status, or null if there was no response.
 */
export function respondToBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  latest: ServerResponse | undefined,
): number | null {
  if (error.code === 'ECONNRESET' || !socket.writable || isResponding(socket, latest)) {
    socket.destroy();
    return null;
  }
  const requestId = uuidv7();
  const { status, headers, body } = renderGateway(faultOf(error), requestId);
  const text = JSON.stringify(body);
  const lines = Object.entries({
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    'x-request-id': requestId,
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  // A client that does not close its side must not keep ours open.
  socket.end(`HTTP/1.1 ${status} ${phrases[status] ?? 'Bad Request'}\r\n${lines.join('')}\r\n${text}`, () =>
    socket.destroy(),
  );
  return status;
}

/** Started, or queued behind a started response: then it has no socket yet. */
const isResponding = (socket: Duplex, latest: ServerResponse | undefined): boolean =>
  latest !== undefined && !latest.writableFinished && (latest.headersSent || latest.socket !== socket);

const phrases: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  414: 'URI Too Long',
  431: 'Request Header Fields Too Large',
  505: 'HTTP Version Not Supported',
};

/** Other HTTP versions frame their messages differently, so nothing can be read safely. */
export class UnsupportedVersion extends Error {}

/** Applies to the path only; a query can be as long as the head allows. */
const MAX_PATH_CHARACTERS = 2_048;

/** A path above MAX_PATH_CHARACTERS; no router sees it. */
export class PathTooLong extends Error {}

export const isPathTooLong = ({ url = '/' }: Pick<IncomingMessage, 'url'>): boolean =>
  url.length > MAX_PATH_CHARACTERS && !url.slice(0, MAX_PATH_CHARACTERS + 1).includes('?');

function faultOf(error: NodeJS.ErrnoException): Fault {
  if (error instanceof UnsupportedVersion) {
    return fault('invalid_request', { status: 505, message: 'This service speaks HTTP/1.1 and HTTP/1.0.' });
  }
  if (error instanceof PathTooLong) {
    return fault('request_too_large', {
      status: 414,
      message: `The path has more than ${MAX_PATH_CHARACTERS.toLocaleString('en')} characters.`,
    });
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return fault('request_timeout');
  // Node's parser does not distinguish the two.
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return fault('request_too_large', {
      status: 431,
      message: 'The request has more than 100 header lines, or they are larger than 16 KiB together.',
    });
  }
  return fault('invalid_request', { message: 'The request is not well-formed HTTP.' });
}
