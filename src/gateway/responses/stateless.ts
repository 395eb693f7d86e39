import { editedJsonObject, type JsonObjectText } from '../../kernel';
import type { Dropped } from '../../protocol';
import type { JsonBody } from '../../routing';
import { isRecord } from './references';

type Json = Readonly<Record<string, unknown>>;

export interface StatelessBody {
  readonly body: JsonBody;
  readonly dropped: readonly Dropped[];
}

/** What may go without an id. Reasoning keeps its own: it belongs to the encrypted content beside it. */
const NAMELESS = new Set<unknown>([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
]);
const ENCRYPTED = 'reasoning.encrypted_content';

/**
 * A request for a supplier that could keep answers itself, so that it needs none of them and keeps none. It would look
 * up the ids of items, which another account or another supplier does not know; what the caller's later requests need
 * of hidden reasoning comes encrypted with the answer.
 */
export function stateless(text: JsonObjectText, wantsReasoning: boolean): StatelessBody {
  const { body } = text;
  const dropped: Dropped[] = [];
  const set: Record<string, unknown> = { store: false };
  const input = Array.isArray(body.input) ? withoutIds(body.input, dropped) : undefined;
  if (input !== undefined) set.input = input;
  const include = Array.isArray(body.include) ? (body.include as readonly unknown[]) : [];
  if (wantsReasoning && !include.includes(ENCRYPTED)) set.include = [...include, ENCRYPTED];
  return { body: { kind: 'json', text: editedJsonObject(text, { set }) }, dropped };
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
const isEmptyReasoning = ({ type, content, encrypted_content: encrypted }: Json): boolean =>
  type === 'reasoning' && typeof encrypted !== 'string' && !(Array.isArray(content) && content.length > 0);
