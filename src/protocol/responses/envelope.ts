import { type Usage } from '../../kernel';
import {
  type ResponseBlock,
  type EncoderOptions,
  type Finish,
  itemFor,
  type JsonObject,
  withoutUndefined,
  signatureFor,
} from '../canonical';
import { secondsNow } from '../chat/stream-encoder';
import { isRecord } from '../usage';
import { incompleteReason } from './finish';
import { renderResponsesUsage } from './usage';

export const responsesId = (id: string): string => (id.startsWith('resp_') ? id : `resp_${id}`);

/** Fields of a response that repeat the request, with their defaults. */
const REPEATED_DEFAULTS: JsonObject = {
  background: false,
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
};

/** Fields that every response has; https://www.openresponses.org/specification requires all of them. */
const OWN_FIELDS: JsonObject = {
  object: 'response',
  completed_at: null,
  error: null,
  incomplete_details: null,
  usage: null,
};

/** Fields for which a supplier's null is a value; for others, null counts as missing. */
const NULLABLE: ReadonlySet<string> = new Set(
  ['metadata', 'reasoning', ...Object.keys(OWN_FIELDS)].concat(
    Object.keys(REPEATED_DEFAULTS).filter((name) => REPEATED_DEFAULTS[name] === null),
  ),
);

/** Merges a requested object into its default; other requested values replace the default. */
const withDefault = (requested: unknown, fallback: unknown): unknown =>
  isRecord(requested) && isRecord(fallback) ? { ...fallback, ...requested } : (requested ?? fallback);

/** Tools of a response name all their fields; null if the request omits them. */
const completeTool = (tool: unknown): unknown =>
  isRecord(tool) && tool.type === 'function'
    ? { description: null, parameters: null, strict: null, ...tool }
    : tool;

const isCompleteTool = (tool: unknown): boolean =>
  !isRecord(tool) ||
  tool.type !== 'function' ||
  ['description', 'parameters', 'strict'].every((name) => tool[name] !== undefined);

const completeTools = (tools: unknown): unknown => (Array.isArray(tools) ? tools.map(completeTool) : tools);

function repeatedFields(request: JsonObject): JsonObject {
  const fields = Object.entries(REPEATED_DEFAULTS).map(
    ([name, fallback]) => [name, withDefault(request[name], fallback)] as const,
  );
  const { user } = request;
  return {
    ...Object.fromEntries(fields),
    tools: completeTools(request.tools ?? []),
    ...withoutUndefined({ user }),
  };
}

export function missingResponseFields(
  response: JsonObject,
  status: unknown,
  request: JsonObject,
): JsonObject {
  const isMissing = (name: string): boolean =>
    response[name] === undefined || (response[name] === null && !NULLABLE.has(name));
  const all: JsonObject = { ...OWN_FIELDS, ...REPEATED_DEFAULTS };
  const missing = Object.keys(all).filter(isMissing);
  const values = missing.length === 0 ? {} : { ...OWN_FIELDS, ...repeatedFields(request) };
  const fields: JsonObject = Object.fromEntries(missing.map((name) => [name, values[name]]));
  if (fields.completed_at === null && status === 'completed') fields.completed_at = secondsNow();
  const { tools } = response;
  if (Array.isArray(tools) && !tools.every(isCompleteTool)) fields.tools = completeTools(tools);
  return fields;
}

export const envelope = (
  id: string,
  model: string,
  createdAt: number,
  request: JsonObject = {},
): JsonObject => ({
  id,
  object: 'response',
  created_at: createdAt,
  completed_at: null,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  model,
  output: [],
  usage: null,
  ...repeatedFields(request),
});

export function finishedEnvelope(
  started: JsonObject,
  output: readonly JsonObject[],
  finish: Finish,
  reported: Usage | undefined,
  options: EncoderOptions,
): JsonObject {
  const reason = incompleteReason(finish);
  const usage = reported ?? options.estimate?.();
  const facts = options.facts?.(usage);
  return {
    ...started,
    completed_at: reason === undefined ? (options.createdAt ?? secondsNow()) : null,
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage: usage ? renderResponsesUsage(usage) : null,
    ...(facts && { svc: facts }),
  };
}

const PREFIXES = { text: 'msg', refusal: 'msg', reasoning: 'rs', tool: 'fc' } as const;

/** Item ids are derived from the response id, so that both modes have the same ids. */
export const itemId = (responseId: string, type: ResponseBlock['type'], index: number): string =>
  `${PREFIXES[type]}_${responseId.slice('resp_'.length)}_${index}`;

export const textPart = (text: string, annotations: readonly JsonObject[] = []): JsonObject => ({
  type: 'output_text',
  text,
  annotations,
  logprobs: [],
});
export const refusalPart = (refusal: string): JsonObject => ({ type: 'refusal', refusal });

const signatureOf = (block: ResponseBlock): string | undefined =>
  block.type === 'reasoning' && block.origin === 'responses' ? block.signature : undefined;

export function withOwnSignature(block: ResponseBlock, lane: string | undefined): ResponseBlock {
  const signature = signatureFor(block, 'responses', lane);
  return signature === undefined ? block : ({ ...block, origin: 'responses', signature } as ResponseBlock);
}

export const isVisible = (block: ResponseBlock): boolean =>
  block.type === 'tool' || block.text !== '' || signatureOf(block) !== undefined;

export function finishedItem(block: ResponseBlock, id: string): JsonObject {
  switch (block.type) {
    case 'text':
    case 'refusal': {
      const part = block.type === 'text' ? textPart(block.text, block.annotations) : refusalPart(block.text);
      return { id, type: 'message', role: 'assistant', status: 'completed', content: [part] };
    }
    case 'reasoning': {
      const summary = block.text === '' ? [] : [{ type: 'summary_text', text: block.text }];
      return withoutUndefined({ id, type: 'reasoning', summary, encrypted_content: signatureOf(block) });
    }
    case 'tool': {
      const { id: call_id, name, namespace, arguments: text, item } = block;
      if (item !== undefined) return { id, call_id, status: 'completed', ...itemFor(item, text) };
      const call = withoutUndefined({ id, call_id, name, namespace, status: 'completed' });
      if (block.custom) return { type: 'custom_tool_call', ...call, input: text };
      return { type: 'function_call', ...call, arguments: text === '' ? '{}' : text };
    }
  }
}

export function startedItem(item: JsonObject): JsonObject {
  switch (item.type) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] };
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' };
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' };
    default:
      return { id: item.id, type: item.type, summary: [] };
  }
}
