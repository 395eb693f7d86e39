import type { CanonicalRequest } from '../../protocol';

type Turn = CanonicalRequest['turns'][number];

/** One step of a conversation: `id` names the call where it is a result, and is null where nothing tells. */
type Step = { readonly is: 'result'; readonly id: string | null } | { readonly is: 'answer' | 'question' };

/**
 * The ids of the calls whose results the request brings; null where it brings none. Results are new until an answer
 * follows them. An answer that the caller began for the model is none.
 */
export function resultsIn(turns: readonly Turn[]): readonly string[] | null {
  const steps = turns.flatMap(stepsOf);
  const end = steps.findLastIndex(({ is }) => is !== 'answer') + 1;
  const begin = steps.findLastIndex(({ is }, at) => at < end && is === 'answer') + 1;
  const results = steps.slice(begin, end).filter((step) => step.is === 'result');
  return results.length === 0 ? null : [...new Set(results.flatMap(({ id }) => id ?? []))];
}

function stepsOf(turn: Turn): readonly Step[] {
  if (turn.role === 'tool') return turn.results.map(({ toolUseId: id }) => ({ is: 'result', id }));
  if (turn.role !== 'assistant') return [{ is: 'question' }];
  return turn.blocks.map((block) => (block.type === 'opaque' ? opaqueStep(block) : { is: 'answer' }));
}

/** Results of tools that only the Responses dialect has stand among the items of the answer. */
function opaqueStep({ value }: { readonly value: Readonly<Record<string, unknown>> }): Step {
  const { type, call_id: call, approval_request_id: approval } = value;
  if (typeof type !== 'string' || (type !== 'mcp_approval_response' && !type.endsWith('_output')))
    return { is: 'answer' };
  const id = type === 'mcp_approval_response' ? approval : call;
  return { is: 'result', id: typeof id === 'string' ? id : null };
}
