import { fault, headerName, isValidHeaderValue } from '../../../kernel';
import type { RequestMethod } from '../supplier-transport';

/** They are written once, with the head. */
const own: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'host',
  'transfer-encoding',
]);
const address = /^[\x21-\x7e]+$/;

export interface RequestLine {
  readonly method: RequestMethod;
  readonly path: string;
  readonly host: string;
}

/** The head of a request as it is sent. A header that could be read as more than one is refused. */
export function requestHead(
  { method, path, host }: RequestLine,
  headers: Readonly<Record<string, string>>,
  bodyBytes: number,
): string {
  if (!address.test(path)) throw unsendable('path');
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\naccept-encoding: identity\r\n`;
  for (const spelling in headers) {
    const name = headerName(spelling);
    const value = headers[spelling]!;
    if (name === null || !isValidHeaderValue(value)) throw unsendable(spelling);
    if (!own.has(name)) text += `${spelling}: ${value}\r\n`;
  }
  if (method === 'POST' || method === 'PUT' || bodyBytes > 0) text += `content-length: ${bodyBytes}\r\n`;
  return `${text}\r\n`;
}

const unsendable = (name: string): Error =>
  fault('configuration_error', { details: { request: name, problem: 'has characters that cannot be sent' } });
