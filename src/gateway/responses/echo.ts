import type { JsonObject } from '../../protocol';
import type { Call } from '../inference/describe';

/** What an answer repeats of its request, as the caller asked it: suppliers are asked something else. */
export function echoOf({ operation, inbound }: Call): JsonObject {
  if (operation.keepsAnswers !== true) return {};
  const { body, previousResponseId } = inbound;
  const store = typeof body.store === 'boolean' ? body.store : null;
  return { previous_response_id: previousResponseId ?? null, store };
}
