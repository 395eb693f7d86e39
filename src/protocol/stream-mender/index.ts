import { type AnswerForm } from '../complete-answer';
import { ChatMender } from './chat-mender';
import { type StreamFacts, type StreamMender } from './mender';
import { MessagesMender } from './messages-mender';
import { ResponsesMender } from './responses-mender';

export { type Lack, type StreamMender, type UsagePlace } from './mender';

/** It is null for answers that are never streamed. */
export function streamMender(form: AnswerForm, facts: StreamFacts): StreamMender | null {
  switch (form) {
    case 'chat':
    case 'completions':
      return new ChatMender(form, facts);
    case 'messages':
      return new MessagesMender(facts);
    case 'responses':
      return new ResponsesMender(facts);
    case 'embeddings':
      return null;
  }
}
