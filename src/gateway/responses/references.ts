import { fault, type Fault, type JsonFields } from '../../kernel';
import { isRecord } from '../../protocol';
import { notGiven } from '../stored/stored-ids.service';

/** A request refers to earlier answers in place of repeated content. */
export interface References {
  readonly previous: string | null;
  /** Item ids are listed by their place in the input. */
  readonly items: ReadonlyMap<number, string>;
}

const MOST_REFERENCES = 2_000;
/** Longer ids are never ours. */
export const LONGEST_ID = 256;

/** Null: the request repeats everything it needs. */
export function referencesIn({
  previous_response_id: previous,
  conversation,
  input,
}: JsonFields): References | null {
  const items = new Map<number, string>();
  if (Array.isArray(input)) {
    for (const [at, item] of input.entries()) if (isReference(item)) items.set(at, idOf(item, at));
  }
  if (items.size > MOST_REFERENCES) {
    const most = MOST_REFERENCES.toLocaleString('en');
    throw fault('invalid_request', { param: 'input', message: `input may have at most ${most} references.` });
  }
  if (previous === undefined || previous === null) return items.size === 0 ? null : { previous: null, items };
  if (typeof previous !== 'string' || previous === '' || previous.length > LONGEST_ID) {
    const message = 'previous_response_id must be the id of an earlier response.';
    throw fault('invalid_request', { param: 'previous_response_id', message });
  }
  if (conversation !== undefined && conversation !== null) {
    const message = 'previous_response_id cannot stand beside conversation.';
    throw fault('invalid_request', { param: 'previous_response_id', message });
  }
  return { previous, items };
}

/** The type of a reference may be left out, if the item says nothing else. */
const isReference = (item: unknown): item is JsonFields =>
  isRecord(item) &&
  (item.type === 'item_reference' ||
    ((item.type === undefined || item.type === null) && item.role === undefined && item.id !== undefined));

function idOf({ id }: JsonFields, at: number): string {
  if (typeof id === 'string' && id !== '' && id.length <= LONGEST_ID) return id;
  throw fault('invalid_request', {
    param: `input[${at}].id`,
    message: `input[${at}].id must be the id of an output item of an earlier response.`,
  });
}

/** The error if the installation keeps no answers. */
export function refusedReference({ previous, items }: References): Fault {
  const why = 'This service keeps no answers; clients repeat earlier items when they are told store: false.';
  const [first] = items;
  if (previous !== null || first === undefined) return unknownResponse(previous ?? '', why);
  return unknownItem(first[1], first[0], why);
}

const NOT_KEPT =
  'This key was not given it, or it is older than 24 hours, was not to be stored, or was too much to keep.';

export const unknownItem = (id: string, at: number, why = NOT_KEPT): Fault =>
  notGiven({ id, kind: 'item', param: `input[${at}].id` }, why);

export const unknownResponse = (id: string, why = NOT_KEPT): Fault =>
  notGiven({ id, kind: 'response', param: 'previous_response_id' }, why);

/** The input as a list of items: a text is what a user says. */
export function itemsOf(input: unknown): readonly unknown[] {
  if (Array.isArray(input)) return input;
  if (typeof input !== 'string') return [];
  return input === '' ? [] : [{ type: 'message', role: 'user', content: input }];
}
