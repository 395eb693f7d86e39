import {
  awaitsAnswerToTools,
  type CanonicalRequest,
  entryOf,
  isReadable,
  type JsonObject,
  type Tally,
  type Target,
  type Turn,
} from '../canonical';
import { budgetOf } from '../effort';

const LEAST_BUDGET = 1024;
const EFFORTS: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'high' };

/** Thinking that the supplier leaves out where the conversation before it has changed, in place of a refusal. */
export function boundThinking(thinking: JsonObject, { dropsUnboundThinking }: Target): JsonObject {
  if (!dropsUnboundThinking || thinking.block_binding !== undefined) return thinking;
  if (thinking.type !== 'adaptive' && thinking.type !== 'enabled') return thinking;
  return { ...thinking, block_binding: { prefix_mismatch_behavior: 'drop_block' } };
}

interface Circumstances {
  readonly target: Target;
  readonly limit: number;
  /** A tool must be called, which this dialect does not allow while thinking. */
  readonly isForced: boolean;
  readonly turns: readonly Turn[];
}

interface Thinking {
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

/** The wish for reasoning in this dialect's words, as far as its rules allow. */
export function thinkingFor(request: CanonicalRequest, around: Circumstances, tally: Tally): Thinking {
  const { reasoning: wish, source } = request;
  if (!wish) return {};
  if (wish.summary !== undefined) tally.dropped('reasoning.summary', 'unknown to the target');
  if (around.target.reasoning === false) {
    tally.dropped('reasoning', 'this model cannot be told how to think');
    return {};
  }
  const shown = wish.display === undefined ? {} : { display: wish.display };
  if (source === 'messages') return { thinking: ownThinking(wish, shown), effort: wish.effort };
  if (wish.mode === 'off') return { thinking: { type: 'disabled' } };
  if (wish.effort === undefined) return {};
  const obstacle = obstacleTo(around);
  if (obstacle !== undefined) {
    tally.dropped('reasoning', obstacle);
    return {};
  }
  if (around.target.thinking === 'adaptive') {
    const effort = entryOf(EFFORTS, wish.effort) ?? wish.effort;
    if (effort !== wish.effort) tally.approximated('reasoning', 'the nearest effort');
    return { thinking: { type: 'adaptive' }, effort };
  }
  tally.approximated('reasoning', 'expressed as a number of tokens');
  // The limit counts thinking and answer together, so half of it is left for the answer.
  const most = Math.max(LEAST_BUDGET, Math.floor(around.limit / 2));
  return { thinking: { type: 'enabled', budget_tokens: Math.min(budgetOf(wish.effort), most) } };
}

function ownThinking(
  { mode, budgetTokens }: NonNullable<CanonicalRequest['reasoning']>,
  shown: JsonObject,
): JsonObject | undefined {
  if (mode === undefined) return undefined;
  if (mode === 'off') return { type: 'disabled', ...shown };
  if (mode === 'adaptive') return { type: 'adaptive', ...shown };
  return { type: 'enabled', budget_tokens: budgetTokens, ...shown };
}

function obstacleTo({ target, limit, isForced, turns }: Circumstances): string | undefined {
  if (isForced) return 'not while a tool must be called';
  if (limit <= LEAST_BUDGET) return 'the output limit leaves no room for it';
  if (target.thinking === 'adaptive') return undefined;
  const calling = awaitsAnswerToTools(turns);
  // In the middle of a round a model with a budget wants its own signed thinking back.
  const isSigned = calling?.blocks.some(
    (block) => block.type === 'reasoning' && isReadable(block, 'messages', target.reads),
  );
  return calling && !isSigned ? 'the round of tool calls began without signed thinking' : undefined;
}
