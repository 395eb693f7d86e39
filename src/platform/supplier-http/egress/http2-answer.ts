import type { IncomingHttpHeaders } from 'node:http';
import { headerName, isValidHeaderValue } from '../../../kernel';
import { BrokenAnswer } from '../errors';

const MOST_HEAD_BYTES = 16 * 1024;
const MOST_EARLY_HEADS = 16;
const WITHOUT_CONTENT: ReadonlySet<number> = new Set([204, 205, 304]);

/** The fields of an answer, by the rules of the answers of HTTP/1.1 as far as they are not those of HTTP/2. */
export function judgeHead(
  status: number,
  fields: IncomingHttpHeaders,
  earlyHeads: number,
): Record<string, string> | BrokenAnswer {
  if (earlyHeads > MOST_EARLY_HEADS) return new BrokenAnswer('it never begins');
  const headers: Record<string, string> = {};
  let bytes = 0;
  for (const [spelling, given] of Object.entries(fields)) {
    const name = headerName(spelling);
    const value = Array.isArray(given) ? given.join(', ') : String(given);
    if (name === null || !isValidHeaderValue(value))
      return new BrokenAnswer('a header has characters that none may have');
    bytes += name.length + value.length + 4;
    headers[name] = value;
  }
  if (bytes > MOST_HEAD_BYTES) return new BrokenAnswer('its head is too large');
  if (status >= 200 && (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
    return new BrokenAnswer('it is compressed, although that was not offered');
  return headers;
}

export const judgeEmpty = (status: number, piece: Buffer): BrokenAnswer | null =>
  piece.length > 0 && WITHOUT_CONTENT.has(status)
    ? new BrokenAnswer('it has a body that its status forbids')
    : null;
