import { fault, type JsonFields } from '../../kernel';
import { isRecord } from '../../protocol';

type ResponseInputItem = JsonFields & { readonly id: string };

export interface InputItemPage {
  readonly object: 'list';
  readonly data: readonly ResponseInputItem[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;

export function inputItemPage(
  responseId: string,
  input: readonly unknown[],
  query: URLSearchParams,
): InputItemPage {
  const size = parsePageSize(query.get('limit'));
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw invalidParameterError('order', 'asc or desc');
  const items = input.filter(isRecord).map((item, index) => presentItem(item, responseId, index));
  if (order === 'desc') items.reverse();
  const start = indexAfter(items, query.get('after'));
  const data = items.slice(start, start + size);
  return {
    object: 'list',
    data,
    has_more: start + size < items.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function parsePageSize(limit: string | null): number {
  const size = limit === null ? DEFAULT_PAGE_SIZE : /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (size >= 1 && size <= MAX_PAGE_SIZE) return size;
  throw invalidParameterError('limit', `a whole number from 1 to ${MAX_PAGE_SIZE}`);
}

function indexAfter(items: readonly ResponseInputItem[], after: string | null): number {
  if (after === null) return 0;
  const index = items.findIndex(({ id }) => id === after);
  if (index === -1) throw invalidParameterError('after', 'the id of an input item of this response');
  return index + 1;
}

const invalidParameterError = (param: string, expected: string) =>
  fault('invalid_request', { param, message: `${param} must be ${expected}.` });

/** Fills in ids, types and text parts, which callers can omit. */
function presentItem(item: JsonFields, responseId: string, index: number): ResponseInputItem {
  const { type = 'message', role, content } = item;
  const id = typeof item.id === 'string' && item.id !== '' ? item.id : deriveId(type, responseId, index);
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

/** Derived ids are the same on every read. */
const deriveId = (type: unknown, responseId: string, index: number): string =>
  `${PREFIXES[String(type)] ?? 'item'}_${responseId.replace(/^resp_/, '')}_input_${index}`;
