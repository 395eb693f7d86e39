import { type JsonFields, parseJsonText, SseScanner } from '../../kernel';
import { isRecord } from '../../protocol';

const ENDS = new Set<unknown>(['response.completed', 'response.incomplete']);

/** The response object in the body of a whole answer, or in the last event of a streamed one; null without one. */
export function finalResponse(answer: Buffer | string, isStream: boolean): JsonFields | null {
  const bytes = typeof answer === 'string' ? Buffer.from(answer) : answer;
  if (!isStream) return objectIn(bytes);
  let found: JsonFields | null = null;
  const scanner = new SseScanner({
    onData: (data) => {
      const event = objectIn(data);
      if (event !== null && ENDS.has(event.type) && isRecord(event.response)) found = event.response;
    },
  });
  scanner.push(bytes);
  scanner.end();
  return found;
}

function objectIn(bytes: Buffer): JsonFields | null {
  try {
    const value = parseJsonText(bytes.toString('utf8'));
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
