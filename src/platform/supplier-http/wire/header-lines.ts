import type { IncomingHttpHeaders } from 'node:http';
import { normaliseHeaderName, isValidHeaderValue } from '../../../kernel';
import { BrokenAnswer } from '../errors';

/** Fields of a head or of trailers, by lower-case name; anything else in the text is rejected. */
export function headersIn(text: string, start: number): IncomingHttpHeaders {
  const headers: Record<string, string> = {};
  for (let from = start; from <= text.length;) {
    const lineEnd = text.indexOf('\r\n', from);
    const end = lineEnd === -1 ? text.length : lineEnd;
    const colon = text.indexOf(':', from);
    if (colon === -1 || colon >= end) throw new BrokenAnswer('a header has no name');
    const name = normaliseHeaderName(text.slice(from, colon));
    const value = text.slice(colon + 1, end);
    if (name === null || !isValidHeaderValue(value))
      throw new BrokenAnswer('a header has characters that none may have');
    add(headers, name, trimmed(value));
    from = end + 2;
  }
  return headers;
}

const isBlank = (unit: number): boolean => unit === 0x20 || unit === 0x09;

/** Trims only the blanks of HTTP; `trim` removes more kinds. */
function trimmed(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

function add(headers: Record<string, string>, name: string, value: string): void {
  const before = headers[name];
  if (typeof before !== 'string') headers[name] = value;
  else if (name !== 'content-length') headers[name] = `${before}, ${value}`;
  else if (before !== value) throw new BrokenAnswer('it has two lengths');
}
