import type { JsonEdits, JsonFields } from '../../kernel';
import { type Dropped, isRecord } from '../../protocol';

export interface StatelessBody {
  readonly edits: JsonEdits;
  readonly dropped: readonly Dropped[];
}

/** These items may be sent without an id. Reasoning keeps its id: the encrypted content belongs to it. */
const NAMELESS = new Set<unknown>([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
]);
const ENCRYPTED = 'reasoning.encrypted_content';

/**
 * Makes a request independent of the supplier's own store. The supplier would look up item ids, which another account
 * does not know; hidden reasoning returns encrypted with the answer instead.
 */
export function stateless(body: JsonFields, wantsReasoning: boolean): StatelessBody {
  const dropped: Dropped[] = [];
  const set: Record<string, unknown> = { store: false };
  const input = Array.isArray(body.input) ? withoutIds(body.input, dropped) : undefined;
  if (input !== undefined) set.input = input;
  const include = Array.isArray(body.include) ? (body.include as readonly unknown[]) : [];
  if (wantsReasoning && !include.includes(ENCRYPTED)) set.include = [...include, ENCRYPTED];
  return { edits: { set }, dropped };
}

/** Undefined: there are none. */
function withoutIds(items: readonly unknown[], dropped: Dropped[]): unknown[] | undefined {
  let isChanged = false;
  const kept = items.flatMap((item, at) => {
    if (!isRecord(item)) return [item];
    if (isEmptyReasoning(item)) {
      const reason = 'only the supplier that wrote it could look it up';
      dropped.push({ loss: 'dropped', path: 'input.reasoning', at: `input.${at}`, reason, count: 1 });
      isChanged = true;
      return [];
    }
    if (item.id === undefined || !NAMELESS.has(item.type ?? 'message')) return [item];
    isChanged = true;
    const { id: _id, ...rest } = item;
    return [rest];
  });
  return isChanged ? kept : undefined;
}

/** Without its id nothing of it is left that a model could read; a summary is for people. */
const isEmptyReasoning = ({ type, content, encrypted_content: encrypted }: JsonFields): boolean =>
  type === 'reasoning' && typeof encrypted !== 'string' && !(Array.isArray(content) && content.length > 0);
