import type { CanonicalRequest } from '../../protocol';

type ConversationTurn = CanonicalRequest['turns'][number];

/** A step of a conversation; `id` names the call of a result and is null if unknown. */
type ConversationStep =
  { readonly is: 'result'; readonly id: string | null } | { readonly is: 'answer' | 'question' };

/**
 * Ids of the calls whose results the request contains; null if none. Results are new until an answer follows them, but
 * an answer prefilled by the caller does not count.
 */
export function resultsIn(turns: readonly ConversationTurn[]): readonly string[] | null {
  const steps = turns.flatMap(stepsOf);
  const end = steps.findLastIndex(({ is }) => is !== 'answer') + 1;
  const start = steps.findLastIndex(({ is }, at) => at < end && is === 'answer') + 1;
  const results = steps.slice(start, end).filter((step) => step.is === 'result');
  return results.length === 0 ? null : [...new Set(results.flatMap(({ id }) => id ?? []))];
}

function stepsOf(turn: ConversationTurn): readonly ConversationStep[] {
  if (turn.role === 'tool') return turn.results.map(({ toolUseId: id }) => ({ is: 'result', id }));
  if (turn.role !== 'assistant') return [{ is: 'question' }];
  return turn.blocks.map((block) => (block.type === 'opaque' ? opaqueStep(block) : { is: 'answer' }));
}

/** Results of tools that only the Responses dialect has appear among the items of the answer. */
function opaqueStep({ value }: { readonly value: Readonly<Record<string, unknown>> }): ConversationStep {
  const { type, call_id: call, approval_request_id: approval } = value;
  if (typeof type !== 'string' || (type !== 'mcp_approval_response' && !type.endsWith('_output')))
    return { is: 'answer' };
  const id = type === 'mcp_approval_response' ? approval : call;
  return { is: 'result', id: typeof id === 'string' ? id : null };
}
