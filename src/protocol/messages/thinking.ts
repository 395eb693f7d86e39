import {
  findPendingToolTurn,
  type CanonicalRequest,
  isReadable,
  type JsonObject,
  type Tally,
  type EncodingTarget,
  type CanonicalTurn,
} from '../canonical';
import type { ThinkingFacts } from '../../vendors';
import { isRecord } from '../usage';
import { budgetOf, cannotThink, nearestEffort, replaceEffort } from '../effort';

const MIN_BUDGET_TOKENS = 1024;

/** Adds the block binding with which the supplier drops thinking of a changed conversation instead of refusing it. */
export function withBlockBinding(
  requested: JsonObject | undefined,
  { facts }: EncodingTarget,
  messages: readonly unknown[],
): JsonObject | undefined {
  const thinking =
    requested ?? (facts?.thinking?.unasked && containsThinking(messages) ? DEFAULT_THINKING : undefined);
  if (facts?.dropsBlocks !== true || thinking === undefined) return requested;
  if (thinking.block_binding !== undefined) return requested;
  if (thinking.type !== 'adaptive' && thinking.type !== 'enabled') return requested;
  return { ...thinking, block_binding: { prefix_mismatch_behavior: 'drop_block' } };
}

/** The default of models that think unasked; it must be explicit if another field is added to it. */
const DEFAULT_THINKING: JsonObject = { type: 'adaptive' };

const containsThinking = (messages: readonly unknown[]): boolean =>
  messages.some((message) => {
    const content = isRecord(message) ? message.content : undefined;
    return Array.isArray(content) && content.some((block) => isRecord(block) && block.type === 'thinking');
  });

interface ThinkingContext {
  readonly target: EncodingTarget;
  readonly limit: number;
  /** Whether a tool must be called, which this dialect does not allow while thinking. */
  readonly isForced: boolean;
  readonly turns: readonly CanonicalTurn[];
}

interface ThinkingFields {
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

export function thinkingFor(
  request: CanonicalRequest,
  context: ThinkingContext,
  tally: Tally,
): ThinkingFields {
  const { reasoning: requested, source } = request;
  const { target } = context;
  if (!requested) return {};
  if (requested.summary !== undefined) tally.dropped('reasoning.summary', 'unknown to the target');
  if (cannotThink(target)) {
    tally.dropped('reasoning', 'this model cannot be told how to think');
    return {};
  }
  const displayField = requested.display === undefined ? {} : { display: requested.display };
  if (source === 'messages')
    return { thinking: ownThinking(requested, displayField), effort: requested.effort };
  const facts = target.facts?.thinking;
  if (requested.mode === 'off') return withoutThinking(facts, tally);
  if (requested.effort === undefined) return {};
  if (facts?.types?.includes('adaptive')) return adaptive(request, facts, context, tally);
  const obstacle = thinkingObstacle(context);
  if (obstacle !== undefined) {
    tally.dropped('reasoning', obstacle);
    return {};
  }
  tally.approximated('reasoning', 'expressed as a number of tokens');
  // The limit covers thinking and response together, so half of it is left for the response.
  const half = Math.max(MIN_BUDGET_TOKENS, Math.floor(context.limit / 2));
  const budget = Math.min(budgetOf(requested.effort), half, facts?.budget?.most ?? Infinity);
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

function adaptive(
  request: CanonicalRequest,
  facts: ThinkingFacts,
  { isForced }: ThinkingContext,
  tally: Tally,
): ThinkingFields {
  const requestedEffort = request.reasoning!.effort!;
  const effort = nearestEffort(requestedEffort, facts.efforts ?? []);
  if (effort !== requestedEffort) replaceEffort(request, effort, tally);
  if (!isForced) return { thinking: { type: 'adaptive' }, effort };
  if (!facts.unasked) tally.dropped('reasoning', 'not while a tool must be called');
  return facts.unasked ? { effort } : {};
}

function withoutThinking(facts: ThinkingFacts | undefined, tally: Tally): ThinkingFields {
  if (facts === undefined || facts.canStop) return { thinking: { type: 'disabled' } };
  tally.approximated('reasoning', 'this model always thinks');
  return { effort: nearestEffort('minimal', facts.efforts ?? []) };
}

function ownThinking(
  { mode, budgetTokens }: NonNullable<CanonicalRequest['reasoning']>,
  displayField: JsonObject,
): JsonObject | undefined {
  if (mode === undefined) return undefined;
  if (mode === 'off') return { type: 'disabled', ...displayField };
  if (mode === 'adaptive') return { type: 'adaptive', ...displayField };
  if (mode === 'between-tools') return { type: 'between_tools', ...displayField };
  return { type: 'enabled', budget_tokens: budgetTokens, ...displayField };
}

function thinkingObstacle({ target, limit, isForced, turns }: ThinkingContext): string | undefined {
  if (isForced) return 'not while a tool must be called';
  if (limit <= MIN_BUDGET_TOKENS) return 'the output limit leaves no room for it';
  const calling = findPendingToolTurn(turns);
  // During a round of tool calls, a model with a thinking budget requires its own signed thinking.
  const isSigned = calling?.blocks.some(
    (block) => block.type === 'reasoning' && isReadable(block, 'messages', target.reads),
  );
  return calling && !isSigned ? 'the round of tool calls began without signed thinking' : undefined;
}
