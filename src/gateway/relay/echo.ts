import { isLong, uuidv7 } from '../../kernel';
import type { JsonObject } from '../../protocol';
import type { GatewayCall } from '../intake';
import type { GatewayOperation } from '../operations/operation';

/** Request fields that the response echoes with the caller's values, as the supplier got others. */
export function echoOf({ operation, inbound }: GatewayCall): JsonObject {
  if (operation.keepsAnswers !== true) return {};
  const { body, previousResponseId, isStorageDisabled: isNotKept } = inbound;
  // Responses are stored here unless the caller or the operator forbids it; suppliers always get store: false.
  const store = isNotKept !== true && body.store !== false;
  return { previous_response_id: previousResponseId ?? null, store };
}

/** A longer field is not echoed, as every event that holds the response would repeat it. */
const MAX_ECHOED_FIELD_BYTES = 1024 * 1024;

export const requestEcho = (call: GatewayCall): JsonObject =>
  call.operation.keepsAnswers === true ? { ...echoableFields(call), ...echoOf(call) } : {};

function echoableFields({ inbound }: GatewayCall): JsonObject {
  if (!isLong(inbound)) return inbound.body;
  const tooLong = new Set(
    inbound.members.filter(({ value, end }) => end - value > MAX_ECHOED_FIELD_BYTES).map(({ name }) => name),
  );
  return Object.fromEntries(Object.entries(inbound.body).filter(([name]) => !tooLong.has(name)));
}

/**
 * New id of a converted response. Suppliers of other dialects can reuse ids, which callers need to refer to a response.
 */
export const newResponseId = ({ keepsAnswers }: GatewayOperation): { readonly id?: string } =>
  keepsAnswers === true ? { id: `resp_${uuidv7().replaceAll('-', '')}` } : {};
