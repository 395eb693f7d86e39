import {
  awaitsAnswerToTools,
  type CanonicalRequest,
  isReadable,
  type JsonObject,
  type Tally,
  type Target,
  type Turn,
} from '../canonical';
import type { ThinkingFacts } from '../../vendors';
import { isRecord } from '../usage';
import { budgetOf, cannotThink, nearestEffort, replaceEffort } from '../effort';

const LEAST_BUDGET = 1024;

/** Thinking that the supplier leaves out where the conversation before it has changed, in place of a refusal. */
export function boundThinking(
  asked: JsonObject | undefined,
  { facts }: Target,
  messages: readonly unknown[],
): JsonObject | undefined {
  const thinking = asked ?? (facts?.thinking?.unasked && remembers(messages) ? UNASKED : undefined);
  if (facts?.dropsBlocks !== true || thinking === undefined) return asked;
  if (thinking.block_binding !== undefined) return asked;
  if (thinking.type !== 'adaptive' && thinking.type !== 'enabled') return asked;
  return { ...thinking, block_binding: { prefix_mismatch_behavior: 'drop_block' } };
}

/** A model that thinks unasked does this; it has to be said where something is to be said beside it. */
const UNASKED: JsonObject = { type: 'adaptive' };

/** Earlier thinking goes back with the conversation. */
const remembers = (messages: readonly unknown[]): boolean =>
  messages.some((message) => {
    const content = isRecord(message) ? message.content : undefined;
    return Array.isArray(content) && content.some((block) => isRecord(block) && block.type === 'thinking');
  });

interface Surroundings {
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

/** The wish for reasoning in this dialect's words, as far as its rules and those of the model allow. */
export function thinkingFor(request: CanonicalRequest, around: Surroundings, tally: Tally): Thinking {
  const { reasoning: wish, source } = request;
  const { target } = around;
  if (!wish) return {};
  if (wish.summary !== undefined) tally.dropped('reasoning.summary', 'unknown to the target');
  if (cannotThink(target)) {
    tally.dropped('reasoning', 'this model cannot be told how to think');
    return {};
  }
  const shown = wish.display === undefined ? {} : { display: wish.display };
  if (source === 'messages') return { thinking: ownThinking(wish, shown), effort: wish.effort };
  const facts = target.facts?.thinking;
  if (wish.mode === 'off') return withoutThinking(facts, tally);
  if (wish.effort === undefined) return {};
  if (facts?.types?.includes('adaptive')) return adaptive(request, facts, around, tally);
  const obstacle = obstacleTo(around);
  if (obstacle !== undefined) {
    tally.dropped('reasoning', obstacle);
    return {};
  }
  tally.approximated('reasoning', 'expressed as a number of tokens');
  // The limit counts thinking and answer together, so half of it is left for the answer.
  const half = Math.max(LEAST_BUDGET, Math.floor(around.limit / 2));
  const budget = Math.min(budgetOf(wish.effort), half, facts?.budget?.most ?? Infinity);
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

/** The model decides how much it thinks, within the effort. */
function adaptive(
  request: CanonicalRequest,
  facts: ThinkingFacts,
  { isForced }: Surroundings,
  tally: Tally,
): Thinking {
  const wanted = request.reasoning!.effort!;
  const effort = nearestEffort(wanted, facts.efforts ?? []);
  if (effort !== wanted) replaceEffort(request, effort, tally);
  if (!isForced) return { thinking: { type: 'adaptive' }, effort };
  if (!facts.unasked) tally.dropped('reasoning', 'not while a tool must be called');
  return facts.unasked ? { effort } : {};
}

function withoutThinking(facts: ThinkingFacts | undefined, tally: Tally): Thinking {
  if (facts === undefined || facts.canStop) return { thinking: { type: 'disabled' } };
  tally.approximated('reasoning', 'this model always thinks');
  return { effort: nearestEffort('minimal', facts.efforts ?? []) };
}

function ownThinking(
  { mode, budgetTokens }: NonNullable<CanonicalRequest['reasoning']>,
  shown: JsonObject,
): JsonObject | undefined {
  if (mode === undefined) return undefined;
  if (mode === 'off') return { type: 'disabled', ...shown };
  if (mode === 'adaptive') return { type: 'adaptive', ...shown };
  if (mode === 'between-tools') return { type: 'between_tools', ...shown };
  return { type: 'enabled', budget_tokens: budgetTokens, ...shown };
}

function obstacleTo({ target, limit, isForced, turns }: Surroundings): string | undefined {
  if (isForced) return 'not while a tool must be called';
  if (limit <= LEAST_BUDGET) return 'the output limit leaves no room for it';
  const calling = awaitsAnswerToTools(turns);
  // In the middle of a round a model with a budget wants its own signed thinking back.
  const isSigned = calling?.blocks.some(
    (block) => block.type === 'reasoning' && isReadable(block, 'messages', target.reads),
  );
  return calling && !isSigned ? 'the round of tool calls began without signed thinking' : undefined;
}
