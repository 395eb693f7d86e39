import type { JsonObject } from '../../protocol';
import type { Inbound } from '../inference/inbound';
import type { Surface } from '../inference/surface';

/** What an answer repeats of its request, as the caller asked it: suppliers are asked something else. */
export function echoOf({ keepsAnswers }: Surface, { body, previousResponseId }: Inbound): JsonObject {
  if (keepsAnswers !== true) return {};
  const store = typeof body.store === 'boolean' ? body.store : null;
  return { previous_response_id: previousResponseId ?? null, store };
}
