import { fault, type JsonFields } from '../../kernel';
import { isRecord } from '../../protocol';

type Item = JsonFields & { readonly id: string };

export interface InputItemPage {
  readonly object: 'list';
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

const USUAL_PAGE = 20;
const LARGEST_PAGE = 100;

/** A page of the input items of a response: the latest first, unless `order` says otherwise. */
export function inputItemPage(
  responseId: string,
  input: readonly unknown[],
  query: URLSearchParams,
): InputItemPage {
  const size = sizeOf(query.get('limit'));
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw refused('order', 'asc or desc');
  const items = input.filter(isRecord).map((item, at) => presented(item, responseId, at));
  if (order === 'desc') items.reverse();
  const start = startAfter(items, query.get('after'));
  const data = items.slice(start, start + size);
  return {
    object: 'list',
    data,
    has_more: start + size < items.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function sizeOf(limit: string | null): number {
  const size = limit === null ? USUAL_PAGE : /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (size >= 1 && size <= LARGEST_PAGE) return size;
  throw refused('limit', `a whole number from 1 to ${LARGEST_PAGE}`);
}

function startAfter(items: readonly Item[], after: string | null): number {
  if (after === null) return 0;
  const at = items.findIndex(({ id }) => id === after);
  if (at === -1) throw refused('after', 'the id of an input item of this response');
  return at + 1;
}

const refused = (param: string, expected: string) =>
  fault('invalid_request', { param, message: `${param} must be ${expected}.` });

/** Callers may omit ids, types and the parts of a text; a page fills them in. */
function presented(item: JsonFields, responseId: string, at: number): Item {
  const { type = 'message', role, content } = item;
  const id = typeof item.id === 'string' && item.id !== '' ? item.id : idOf(type, responseId, at);
  if (type !== 'message') return { ...item, id };
  const part = role === 'assistant' ? { type: 'output_text', annotations: [] } : { type: 'input_text' };
  const parts = typeof content === 'string' ? [{ ...part, text: content }] : content;
  return { ...item, id, type, status: item.status ?? 'completed', content: parts };
}

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
};

/** Derived ids stay the same on every read. */
const idOf = (type: unknown, responseId: string, at: number): string =>
  `${PREFIXES[String(type)] ?? 'item'}_${responseId.replace(/^resp_/, '')}_input_${at}`;
