import type { LaneView } from '../../catalogue';
import type { OperationName, WireDialect } from './kit';

/** Properties of a request that decide between the dialects of its supplier. */
export interface WireNeeds {
  readonly tools: boolean;
  /** The effort as named by the caller; null if none. */
  readonly effort: string | null;
  /** Whether the request asks for thinking, by an effort or otherwise. */
  readonly thinks: boolean;
}

export const NO_NEEDS: WireNeeds = { tools: false, effort: null, thinks: false };

const CONVERSATIONS: ReadonlySet<OperationName> = new Set(['chat', 'messages', 'responses']);

/**
 * For a supplier of both chat and responses, chooses one: as configured by the operator, otherwise as documented by the
 * model's vendor. Callers of messages get responses for reasoning models, since chat would give them no reasoning.
 */
export function wireFor(
  { wire, facts }: LaneView,
  operation: OperationName,
  defaultDialect: WireDialect,
  needs: WireNeeds,
): WireDialect {
  if (!CONVERSATIONS.has(operation) || (defaultDialect !== 'chat' && defaultDialect !== 'responses'))
    return defaultDialect;
  if (wire !== null) return wire;
  if (defaultDialect === 'responses') return defaultDialect;
  if (isRefusedInChat(facts, needs)) return 'responses';
  const isReasoning = facts.thinking !== undefined && (needs.tools || needs.thinks);
  return operation === 'messages' && isReasoning ? 'responses' : 'chat';
}

function isRefusedInChat({ chat, thinking }: LaneView['facts'], { tools, effort }: WireNeeds): boolean {
  if (chat === 'refused' || (chat === 'tools-refused' && tools)) return true;
  if (chat === 'tools-with-none' && tools && effort !== 'none') return true;
  if (chat === 'tools-without-effort' && tools && effort !== null && effort !== 'none') return true;
  return thinking?.responsesOnly?.some((one) => one === effort) === true;
}
