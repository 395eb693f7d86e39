import { isLong, uuidv7 } from '../../kernel';
import type { JsonObject } from '../../protocol';
import type { Call } from '../intake';
import type { Operation } from '../operations/operation';

/** Fields of the request that the answer repeats, with the caller's values: the supplier got others. */
export function echoOf({ operation, inbound }: Call): JsonObject {
  if (operation.keepsAnswers !== true) return {};
  const { body, previousResponseId, isNotKept } = inbound;
  // Answers are kept here unless the caller or the operator forbids it; suppliers are always sent store: false.
  const store = isNotKept !== true && body.store !== false;
  return { previous_response_id: previousResponseId ?? null, store };
}

/** A longer field is not repeated: every event that holds the response would hold it as well. */
const MOST_REPEATED_BYTES = 1024 * 1024;

/** All fields of the request that an answer can repeat, as the caller sent them. */
export const requestEcho = (call: Call): JsonObject =>
  call.operation.keepsAnswers === true ? { ...repeatable(call), ...echoOf(call) } : {};

function repeatable({ inbound }: Call): JsonObject {
  if (!isLong(inbound)) return inbound.body;
  const tooLong = new Set(
    inbound.members.filter(({ value, end }) => end - value > MOST_REPEATED_BYTES).map(({ name }) => name),
  );
  return Object.fromEntries(Object.entries(inbound.body).filter(([name]) => !tooLong.has(name)));
}

/**
 * The id of a translated answer. Suppliers of other dialects may repeat ids; where callers refer to answers, each
 * needs its own.
 */
export const answerId = ({ keepsAnswers }: Operation): { readonly id?: string } =>
  keepsAnswers === true ? { id: `resp_${uuidv7().replaceAll('-', '')}` } : {};
