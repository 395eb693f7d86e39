import { entryOf, fault, Fault, formatEvent, parseJsonText } from '../../../kernel';
import type { StyleUnframer } from '../kit';
import { type EventStreamFrame, FrameReader } from './event-stream';

const errorTypes: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limit_error',
  validationException: 'invalid_request_error',
  modelTimeoutException: 'timeout_error',
  serviceUnavailableException: 'overloaded_error',
};

/** Unwraps messages events: each frame contains one event, as base64 in JSON. */
export class MessagesUnframer implements StyleUnframer {
  private readonly reader = new FrameReader();

  push(chunk: Buffer): Buffer | Fault {
    const frames = this.reader.push(chunk);
    if (frames instanceof Fault) return frames;
    const events: string[] = [];
    for (const frame of frames) {
      const event = eventOf(frame);
      if (event instanceof Fault) return event;
      events.push(event);
    }
    return Buffer.from(events.join(''));
  }

  end(): Fault | undefined {
    if (!this.reader.isUnfinished) return undefined;
    return fault('agentcli_incomplete_stream', {
      message: 'The stream of the supplier ended within a frame.',
    });
  }
}

function eventOf({ headers, payload }: EventStreamFrame): string | Fault {
  const content = parseObject(payload.toString('utf8'));
  if (headers[':message-type'] !== 'event') return errorEvent(headers, content);
  const bytes: unknown = Reflect.get(content, 'bytes');
  // Other event types carry nothing for the dialect.
  if (headers[':event-type'] !== 'chunk' || typeof bytes !== 'string') return '';
  const data = Buffer.from(bytes, 'base64').toString('utf8');
  const type: unknown = Reflect.get(parseObject(data), 'type');
  if (typeof type !== 'string') return fault('non_json_provider_response');
  return formatEvent({ event: type, data });
}

function errorEvent(headers: EventStreamFrame['headers'], content: object): string {
  const name = headers[':exception-type'] ?? headers[':error-code'] ?? '';
  const message: unknown = Reflect.get(content, 'message') ?? headers[':error-message'];
  const type = entryOf(errorTypes, name) ?? 'api_error';
  const error = { type, message: typeof message === 'string' ? message : name };
  return formatEvent({ event: 'error', data: JSON.stringify({ type: 'error', error }) });
}

function parseObject(text: string) {
  try {
    const value: unknown = parseJsonText(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
