import { formatEvent } from '../sse/writer';
import type { Fault } from './fault';
import { gatewayError, messagesError } from './render';

export type StreamSurface = 'chat' | 'messages';

/** Returns the last event of a stream that failed after its headers were sent, in the stream's dialect. */
export function sseFault(surface: StreamSurface, fault: Fault, requestId: string): string {
  switch (surface) {
    case 'chat':
      // No [DONE] follows: clients would take the response for complete.
      return formatEvent({ data: JSON.stringify({ error: gatewayError(fault, requestId) }) });
    case 'messages':
      return formatEvent({ event: 'error', data: JSON.stringify(messagesError(fault, requestId)) });
  }
}
