import type { JsonObject } from '../../protocol';
import type { Call } from '../inference/describe';

/** Fields of the request that the answer repeats, with the caller's values: the supplier got others. */
export function echoOf({ operation, inbound }: Call): JsonObject {
  if (operation.keepsAnswers !== true) return {};
  const { body, previousResponseId } = inbound;
  const store = typeof body.store === 'boolean' ? body.store : null;
  return { previous_response_id: previousResponseId ?? null, store };
}

/** A translated answer repeats all of them: its supplier knows none. */
export const echoOfTranslated = (call: Call): JsonObject =>
  call.operation.keepsAnswers === true ? { ...call.inbound.body, ...echoOf(call) } : {};
