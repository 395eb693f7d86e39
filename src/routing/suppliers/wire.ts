import type { LaneView } from '../../catalogue';
import type { OperationName, WireDialect } from './kit';

/** These parts of a request decide which of its supplier's wires takes it. */
export interface WireNeeds {
  readonly tools: boolean;
  /** The effort in the caller's word; null where it names none. */
  readonly effort: string | null;
  /** It asks for thinking, by an effort or in another way. */
  readonly thinks: boolean;
}

export const NO_NEEDS: WireNeeds = { tools: false, effort: null, thinks: false };

const CONVERSATIONS: ReadonlySet<OperationName> = new Set(['chat', 'messages', 'responses']);

/**
 * A supplier that speaks chat and responses takes a request on one wire: as the operator says, else as the model's
 * vendor does. Callers of messages get responses where the model reasons, for chat gives them no reasoning.
 */
export function wireFor(
  { wire, facts }: LaneView,
  operation: OperationName,
  usual: WireDialect,
  needs: WireNeeds,
): WireDialect {
  if (!CONVERSATIONS.has(operation) || (usual !== 'chat' && usual !== 'responses')) return usual;
  if (wire !== null) return wire;
  if (usual === 'responses') return usual;
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
