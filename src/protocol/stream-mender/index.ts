import { type ResponseKind } from '../complete-response';
import { ChatStreamNormalizer } from './chat-normalizer';
import { type StreamContext, type StreamNormalizer } from './stream-normalizer';
import { MessagesStreamNormalizer } from './messages-normalizer';
import { ResponsesStreamNormalizer } from './responses-normalizer';

export { type EventAddition, type StreamNormalizer, type UsageLocation } from './stream-normalizer';

/** Returns null for responses that are never streamed. */
export function createStreamNormalizer(kind: ResponseKind, context: StreamContext): StreamNormalizer | null {
  switch (kind) {
    case 'chat':
    case 'completions':
      return new ChatStreamNormalizer(kind, context);
    case 'messages':
      return new MessagesStreamNormalizer(context);
    case 'responses':
      return new ResponsesStreamNormalizer(context);
    case 'embeddings':
      return null;
  }
}
