import { fault, normaliseHeaderName, isValidHeaderValue } from '../../../kernel';
import type { RequestMethod } from '../supplier-transport';

/** Written by this module. */
const ownHeaders: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'host',
  'transfer-encoding',
]);
const validPath = /^[\x21-\x7e]+$/;

export interface RequestLine {
  readonly method: RequestMethod;
  readonly path: string;
  readonly host: string;
}

/** Head of a request as it is sent. A header that could be read as more than one is rejected. */
export function requestHead(
  { method, path, host }: RequestLine,
  headers: Readonly<Record<string, string>>,
  bodyBytes: number,
): string {
  if (!validPath.test(path)) throw unsendable('path');
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\naccept-encoding: identity\r\n`;
  for (const spelling in headers) {
    const name = normaliseHeaderName(spelling);
    const value = headers[spelling]!;
    if (name === null || !isValidHeaderValue(value)) throw unsendable(spelling);
    if (!ownHeaders.has(name)) text += `${spelling}: ${value}\r\n`;
  }
  if (method === 'POST' || method === 'PUT' || bodyBytes > 0) text += `content-length: ${bodyBytes}\r\n`;
  return `${text}\r\n`;
}

const unsendable = (name: string): Error =>
  fault('configuration_error', { details: { request: name, problem: 'has characters that cannot be sent' } });
