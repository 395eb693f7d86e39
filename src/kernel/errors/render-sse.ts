import { formatEvent } from '../sse/writer';
import type { Fault } from './fault';
import { gatewayError, messagesError } from './render';

export type StreamSurface = 'chat' | 'messages';

/** A failure after the head of a stream has left: the last event of that stream, in its own dialect. */
export function sseFault(surface: StreamSurface, fault: Fault, requestId: string): string {
  switch (surface) {
    case 'chat':
      // No [DONE] follows: it would tell the client that the answer is complete.
      return formatEvent({ data: JSON.stringify({ error: gatewayError(fault, requestId) }) });
    case 'messages':
      return formatEvent({ event: 'error', data: JSON.stringify(messagesError(fault, requestId)) });
  }
}
