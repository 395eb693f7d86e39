import { type JsonFields, parseJsonText, SseScanner } from '../../kernel';
import { isRecord } from '../../protocol';

const END_EVENTS = new Set<unknown>(['response.completed', 'response.incomplete']);

export function findFinalResponse(answer: Buffer | string, isStream: boolean): JsonFields | null {
  const bytes = typeof answer === 'string' ? Buffer.from(answer) : answer;
  if (!isStream) return parseObject(bytes);
  let finalObject: JsonFields | null = null;
  const scanner = new SseScanner({
    onData: (data) => {
      const event = parseObject(data);
      if (event !== null && END_EVENTS.has(event.type) && isRecord(event.response))
        finalObject = event.response;
    },
  });
  scanner.push(bytes);
  scanner.end();
  return finalObject;
}

function parseObject(bytes: Buffer): JsonFields | null {
  try {
    const value = parseJsonText(bytes.toString('utf8'));
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
