import { JsonText, parseJsonText } from '../../kernel';
import { isRecord, type JsonObject } from '../../protocol';
import type { AnswerMasks } from './answer-masks';

/** Members that hold protocol names, ids and numbers, not model output. */
const PROTOCOL_MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'object',
  'type',
  'role',
  'index',
  'name',
  'model',
  'status',
  'phase',
  'format',
  'item_id',
  'call_id',
  'tool_call_id',
  'tool_use_id',
  'file_id',
  'container_id',
  'response_id',
  'previous_response_id',
  'approval_request_id',
  'server_label',
  'finish_reason',
  'native_finish_reason',
  'stop_reason',
  'service_tier',
  'system_fingerprint',
  'provider',
  'signature',
  'encrypted_content',
  'encrypted_index',
  'obfuscation',
  'data',
  'b64_json',
  'partial_image_b64',
]);

/** Members without text; tokens are removed elsewhere if their text was changed. */
const TEXTLESS_MEMBERS: ReadonlySet<string> = new Set(['logprobs', 'usage', 'svc', 'embedding']);

const JSON_MEMBERS: ReadonlySet<string> = new Set(['arguments', 'partial_json']);

/** Members of a response that its supplier wrote; the others echo the request. */
const RESPONSE_TEXT_MEMBERS = ['output', 'output_text', 'error', 'incomplete_details'] as const;

export const isTextName = (name: string): boolean =>
  !PROTOCOL_MEMBERS.has(name) && !TEXTLESS_MEMBERS.has(name);
export const isJsonName = (name: string): boolean => JSON_MEMBERS.has(name);

const MIN_OPAQUE_LENGTH = 256;

/** Pictures and audio encoded as text. */
const isOpaque = (text: string): boolean =>
  text.startsWith('data:') || (text.length >= MIN_OPAQUE_LENGTH && /^[\w+/=-]+$/.test(text));

export function maskValue(masks: AnswerMasks, value: unknown, name: string): unknown {
  if (TEXTLESS_MEMBERS.has(name)) return value;
  if (typeof value === 'string') {
    if (PROTOCOL_MEMBERS.has(name)) return value;
    if (isJsonName(name)) return masks.maskJson(value);
    return isOpaque(value) ? value : masks.maskText(value);
  }
  if (typeof value !== 'object' || value === null) return value;
  // JsonText keeps numbers as they were written.
  if (value instanceof JsonText)
    return /^[{[]/.test(value.text) ? new JsonText(masks.maskJson(value.text)) : value;
  if (Array.isArray(value)) return maskList(masks, value, name);
  if (name === 'input' || isJsonName(name)) return maskInput(masks, value);
  maskMembers(masks, value as JsonObject);
  return value;
}

const maskInput = (masks: AnswerMasks, value: object): unknown =>
  parseJsonText(masks.maskJson(JSON.stringify(value)));

/** Removes a signed block that was masked, as its signature would no longer match. */
function maskList(masks: AnswerMasks, list: readonly unknown[], name: string): unknown[] {
  return list.flatMap((item) => {
    const hitsBefore = masks.hits;
    const maskedItem = maskValue(masks, item, name);
    return masks.hits > hitsBefore && isSigned(maskedItem) ? [] : [maskedItem];
  });
}

const isSigned = (value: unknown): boolean =>
  isRecord(value) &&
  (typeof value.signature === 'string' || (value.type === 'thinking' && typeof value.thinking === 'string'));

export function maskMembers(masks: AnswerMasks, fields: JsonObject): void {
  const hitsBefore = masks.hits;
  for (const member of Object.keys(fields)) {
    const value = fields[member];
    if (member === 'response' && isRecord(value)) maskResponse(masks, value);
    else fields[member] = maskValue(masks, value, member);
  }
  const { logprobs } = fields;
  if (masks.hits > hitsBefore && typeof logprobs === 'object' && logprobs !== null)
    fields.logprobs = Array.isArray(logprobs) ? [] : null;
}

export function maskResponse(masks: AnswerMasks, response: JsonObject): void {
  for (const member of RESPONSE_TEXT_MEMBERS)
    if (response[member] !== undefined) response[member] = maskValue(masks, response[member], member);
}
