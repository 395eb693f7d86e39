import { type Usage } from '../../kernel';
import {
  type AnswerBlock,
  type EncoderOptions,
  type Finish,
  itemFor,
  type JsonObject,
  present,
  signatureFor,
} from '../canonical';
import { isRecord } from '../usage';
import { incompleteReason } from './finish';
import { renderResponsesUsage } from './usage';

export const responsesId = (id: string): string => (id.startsWith('resp_') ? id : `resp_${id}`);

/** The answer repeats these fields of the request, with their defaults. */
const REPEATED: JsonObject = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: null,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
};

/** These are repeated where the request has them. */
const FURTHER = ['max_tool_calls', 'prompt_cache_key', 'safety_identifier', 'service_tier', 'user'];

/** The answer repeats what was asked, with the defaults of what was left open. */
const repeated = (asked: unknown, usual: unknown): unknown =>
  isRecord(asked) && isRecord(usual) ? { ...usual, ...asked } : (asked ?? usual);

/** The response object while the answer is on its way. */
export function envelope(id: string, model: string, createdAt: number, echo: JsonObject = {}): JsonObject {
  const defaults = Object.entries(REPEATED).map(
    ([name, usual]) => [name, repeated(echo[name], usual)] as const,
  );
  const further = FURTHER.flatMap((name) => (echo[name] === undefined ? [] : [[name, echo[name]] as const]));
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model,
    output: [],
    usage: null,
    ...Object.fromEntries([...defaults, ...further]),
  };
}

/** The same object once the answer is there. */
export function closed(
  open: JsonObject,
  output: readonly JsonObject[],
  finish: Finish,
  reported: Usage | undefined,
  options: EncoderOptions,
): JsonObject {
  const reason = incompleteReason(finish);
  const usage = reported ?? options.estimate?.();
  const facts = options.facts?.(usage);
  return {
    ...open,
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage: usage ? renderResponsesUsage(usage) : null,
    ...(facts && { svc: facts }),
  };
}

const PREFIXES = { text: 'msg', refusal: 'msg', reasoning: 'rs', tool: 'fc' } as const;

/** Identifiers of items follow from the answer's, so that a stream and a whole answer have the same. */
export const itemId = (responseId: string, type: AnswerBlock['type'], index: number): string =>
  `${PREFIXES[type]}_${responseId.slice('resp_'.length)}_${index}`;

export const textPart = (text: string, annotations: readonly JsonObject[] = []): JsonObject => ({
  type: 'output_text',
  text,
  annotations,
  logprobs: [],
});
export const refusalPart = (refusal: string): JsonObject => ({ type: 'refusal', refusal });

const signatureOf = (block: AnswerBlock): string | undefined =>
  block.type === 'reasoning' && block.origin === 'responses' ? block.signature : undefined;

/** The block with the signature that a caller of this dialect gets. */
export function ownSigned(block: AnswerBlock, lane: string | undefined): AnswerBlock {
  const signature = signatureFor(block, 'responses', lane);
  return signature === undefined ? block : ({ ...block, origin: 'responses', signature } as AnswerBlock);
}

/** A block is shown if it has anything to show: hidden reasoning of another dialect leaves nothing. */
export const isShown = (block: AnswerBlock): boolean =>
  block.type === 'tool' || block.text !== '' || signatureOf(block) !== undefined;

/** A finished item. */
export function itemOf(block: AnswerBlock, id: string): JsonObject {
  switch (block.type) {
    case 'text':
    case 'refusal': {
      const part = block.type === 'text' ? textPart(block.text, block.annotations) : refusalPart(block.text);
      return { id, type: 'message', role: 'assistant', status: 'completed', content: [part] };
    }
    case 'reasoning': {
      const summary = block.text === '' ? [] : [{ type: 'summary_text', text: block.text }];
      return present({ id, type: 'reasoning', summary, encrypted_content: signatureOf(block) });
    }
    case 'tool': {
      const { id: call_id, name, namespace, arguments: text, item } = block;
      if (item !== undefined) return { id, call_id, status: 'completed', ...itemFor(item, text) };
      const call = present({ id, call_id, name, namespace, status: 'completed' });
      if (block.custom) return { type: 'custom_tool_call', ...call, input: text };
      return { type: 'function_call', ...call, arguments: text === '' ? '{}' : text };
    }
  }
}

/** The same item when it begins. */
export function begun(item: JsonObject): JsonObject {
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
