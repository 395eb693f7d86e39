import {
  type AssistantTurn,
  type ImageBlock,
  type OpaqueBlock,
  type SystemTurn,
  type TextBlock,
  type ToolResultBlock,
  type Turn,
} from './request';
import { type Tally } from './tally';
import { unsupported } from './fields';

/** Splits what stands before the conversation from the conversation. */
export function splitSystem(turns: readonly Turn[]): { system: SystemTurn[]; turns: Turn[] } {
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
 * Every dialect wants the results of a round right behind its calls, as one group. Words in between are said
 * after them; results that arrive in several turns become one.
 */
export function resultsBehindCalls(turns: readonly Turn[]): Turn[] {
  const ordered: Turn[] = [];
  for (let at = 0; at < turns.length; at++) {
    const turn = turns[at]!;
    ordered.push(turn);
    if (turn.role !== 'assistant') continue;
    const open = callIds(turn);
    const results: ToolResultBlock[] = [];
    const between: Turn[] = [];
    let next = at + 1;
    for (; open.size > 0 && next < turns.length && turns[next]!.role !== 'assistant'; next++) {
      const following = turns[next]!;
      if (following.role !== 'tool') between.push(following);
      else {
        results.push(...following.results);
        for (const { toolUseId } of following.results) open.delete(toolUseId);
      }
    }
    if (results.length > 0) ordered.push({ role: 'tool', at: results[0]!.at, results });
    ordered.push(...between);
    at = next - 1;
  }
  return ordered;
}

/** The model is in the middle of a round of tool calls where a turn is returned. */
export function awaitsAnswerToTools(turns: readonly Turn[]): AssistantTurn | undefined {
  const last = turns.findLastIndex((turn) => turn.role === 'assistant');
  const turn = turns[last];
  if (turn?.role !== 'assistant' || turns[last + 1]?.role !== 'tool') return undefined;
  return turn;
}

/** A block that only one dialect knows becomes a text in its place, nothing, or a refusal. */
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

export const joinText = (blocks: readonly { readonly text: string }[], between: string): string =>
  blocks.map((block) => block.text).join(between);
