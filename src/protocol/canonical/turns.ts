import {
  type AssistantTurn,
  type ImageBlock,
  type OpaqueBlock,
  type SystemTurn,
  type TextBlock,
  type ToolResultBlock,
  type CanonicalTurn,
} from './request';
import { type Tally } from './tally';
import { unsupported } from './fields';

export function splitSystem(turns: readonly CanonicalTurn[]): {
  system: SystemTurn[];
  turns: CanonicalTurn[];
} {
  const system: SystemTurn[] = [];
  for (const turn of turns) {
    if (turn.role !== 'system') break;
    system.push(turn);
  }
  return { system, turns: turns.slice(system.length) };
}

const callIds = (turn: AssistantTurn): Set<string> =>
  new Set(turn.blocks.flatMap((block) => (block.type === 'tool-use' ? [block.id] : [])));

/**
 * Groups all results of a round directly after its calls, as every dialect requires. Turns in between are moved after
 * them.
 */
export function groupToolResults(turns: readonly CanonicalTurn[]): CanonicalTurn[] {
  const ordered: CanonicalTurn[] = [];
  for (let at = 0; at < turns.length; at++) {
    const turn = turns[at]!;
    ordered.push(turn);
    if (turn.role !== 'assistant') continue;
    const open = callIds(turn);
    const results: ToolResultBlock[] = [];
    const interleaved: CanonicalTurn[] = [];
    let next = at + 1;
    for (; open.size > 0 && next < turns.length && turns[next]!.role !== 'assistant'; next++) {
      const following = turns[next]!;
      if (following.role !== 'tool') interleaved.push(following);
      else {
        results.push(...following.results);
        for (const { toolUseId } of following.results) open.delete(toolUseId);
      }
    }
    if (results.length > 0) ordered.push({ role: 'tool', at: results[0]!.at, results });
    ordered.push(...interleaved);
    at = next - 1;
  }
  return ordered;
}

/**
 * Returns the assistant turn whose tool results end the conversation; undefined if the model is not in a round of tool
 * calls.
 */
export function findPendingToolTurn(turns: readonly CanonicalTurn[]): AssistantTurn | undefined {
  const last = turns.findLastIndex((turn) => turn.role === 'assistant');
  const turn = turns[last];
  if (turn?.role !== 'assistant' || turns[last + 1]?.role !== 'tool') return undefined;
  return turn;
}

/** Converts a block of another dialect to text if it has one; drops it if it is not essential, otherwise refuses. */
export function foreignBlock(block: OpaqueBlock, tally: Tally): TextBlock | undefined {
  if (block.text !== undefined) {
    tally.approximated(block.at, 'carried as plain text');
    return { type: 'text', text: block.text, at: block.at, cacheControl: block.cacheControl };
  }
  if (block.essential)
    throw unsupported(block.at, `This model does not understand the content at ${block.at}.`);
  tally.dropped(block.at, 'unknown to the target');
  return undefined;
}

export function countDetail({ detail, at }: ImageBlock, tally: Tally): void {
  if (detail !== undefined && detail !== 'auto') tally.dropped(`${at}.detail`, 'unknown to the target');
}

export const joinText = (blocks: readonly { readonly text: string }[], separator: string): string =>
  blocks.map((block) => block.text).join(separator);
