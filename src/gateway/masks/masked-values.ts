import { JsonText, parseJsonText } from '../../kernel';
import { isRecord, type JsonObject } from '../../protocol';
import type { AnswerMasks } from './answer-masks';

/** Their texts are names, marks and numbers of the wire, not what a model wrote. */
const WIRE_NAMES: ReadonlySet<string> = new Set([
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

/** Nothing within them is a text; tokens are left out where their text was changed. */
const TEXTLESS: ReadonlySet<string> = new Set(['logprobs', 'usage', 'svc', 'embedding']);

/** They hold the JSON of a tool call, as a text or as an object. */
const JSON_NAMES: ReadonlySet<string> = new Set(['arguments', 'partial_json']);

/** The members of a response that its supplier wrote; the others repeat the request. */
const RESPONSE_TEXTS = ['output', 'output_text', 'error', 'incomplete_details'] as const;

export const isTextName = (name: string): boolean => !WIRE_NAMES.has(name) && !TEXTLESS.has(name);
export const isJsonName = (name: string): boolean => JSON_NAMES.has(name);

const LONG = 256;

/** Pictures and sound as text. */
const isOpaque = (text: string): boolean =>
  text.startsWith('data:') || (text.length >= LONG && /^[\w+/=-]+$/.test(text));

/** A value of an answer with every text in it masked. Objects are changed in place. */
export function maskedValue(masks: AnswerMasks, value: unknown, name: string): unknown {
  if (TEXTLESS.has(name)) return value;
  if (typeof value === 'string') {
    if (WIRE_NAMES.has(name)) return value;
    if (isJsonName(name)) return masks.wholeJson(value);
    return isOpaque(value) ? value : masks.whole(value);
  }
  if (typeof value !== 'object' || value === null) return value;
  // Numbers are kept as they were written too.
  if (value instanceof JsonText)
    return /^[{[]/.test(value.text) ? new JsonText(masks.wholeJson(value.text)) : value;
  if (Array.isArray(value)) return maskedList(masks, value, name);
  if (name === 'input' || isJsonName(name)) return maskedInput(masks, value);
  maskMembers(masks, value as JsonObject);
  return value;
}

/** What a tool is given: its names and numbers are masked like its texts. */
const maskedInput = (masks: AnswerMasks, value: object): unknown =>
  parseJsonText(masks.wholeJson(JSON.stringify(value)));

/** What was signed and has changed would be refused wherever it comes back, so it is left out. */
function maskedList(masks: AnswerMasks, list: readonly unknown[], name: string): unknown[] {
  return list.flatMap((item) => {
    const before = masks.hits;
    const shown = maskedValue(masks, item, name);
    return masks.hits > before && isSigned(shown) ? [] : [shown];
  });
}

const isSigned = (value: unknown): boolean =>
  isRecord(value) &&
  (typeof value.signature === 'string' || (value.type === 'thinking' && typeof value.thinking === 'string'));

/** Masks the members of an object, and leaves the tokens out of a text that was changed. */
export function maskMembers(masks: AnswerMasks, fields: JsonObject): void {
  const before = masks.hits;
  for (const member of Object.keys(fields)) {
    const value = fields[member];
    if (member === 'response' && isRecord(value)) maskResponse(masks, value);
    else fields[member] = maskedValue(masks, value, member);
  }
  const { logprobs } = fields;
  if (masks.hits > before && typeof logprobs === 'object' && logprobs !== null)
    fields.logprobs = Array.isArray(logprobs) ? [] : null;
}

/** A response object, which repeats fields of its request. */
export function maskResponse(masks: AnswerMasks, response: JsonObject): void {
  for (const member of RESPONSE_TEXTS)
    if (response[member] !== undefined) response[member] = maskedValue(masks, response[member], member);
}
