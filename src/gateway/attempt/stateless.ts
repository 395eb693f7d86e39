import type { JsonEdits, JsonFields } from '../../kernel';
import { type Dropped, isRecord } from '../../protocol';

export interface StatelessBody {
  readonly edits: JsonEdits;
  readonly dropped: readonly Dropped[];
}

/** Items that can be sent without an id. Reasoning keeps its id: the encrypted content belongs to it. */
const ITEM_TYPES_WITHOUT_ID = new Set<unknown>([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
]);
const ENCRYPTED = 'reasoning.encrypted_content';

/**
 * Makes a request independent of the supplier's store, whose item ids another account does not know. Hidden reasoning
 * is requested encrypted in the response instead.
 */
export function makeStateless(body: JsonFields, wantsReasoning: boolean): StatelessBody {
  const dropped: Dropped[] = [];
  const set: Record<string, unknown> = { store: false };
  const input = Array.isArray(body.input) ? withoutIds(body.input, dropped) : undefined;
  if (input !== undefined) set.input = input;
  const include = Array.isArray(body.include) ? (body.include as readonly unknown[]) : [];
  if (wantsReasoning && !include.includes(ENCRYPTED)) set.include = [...include, ENCRYPTED];
  return { edits: { set }, dropped };
}

/** Undefined if there are no ids to remove. */
function withoutIds(items: readonly unknown[], dropped: Dropped[]): unknown[] | undefined {
  let isChanged = false;
  const result = items.flatMap((item, index) => {
    if (!isRecord(item)) return [item];
    if (isEmptyReasoning(item)) {
      const reason = 'only the supplier that wrote it could look it up';
      dropped.push({ loss: 'dropped', path: 'input.reasoning', at: `input.${index}`, reason, count: 1 });
      isChanged = true;
      return [];
    }
    if (item.id === undefined || !ITEM_TYPES_WITHOUT_ID.has(item.type ?? 'message')) return [item];
    isChanged = true;
    const { id: _id, ...rest } = item;
    return [rest];
  });
  return isChanged ? result : undefined;
}

/** Without its id such an item has nothing that a model could read; a summary is for users. */
const isEmptyReasoning = ({ type, content, encrypted_content: encrypted }: JsonFields): boolean =>
  type === 'reasoning' && typeof encrypted !== 'string' && !(Array.isArray(content) && content.length > 0);
