import { fault, type Fault, type JsonFields } from '../../kernel';
import { isRecord } from '../../protocol';
import { idNotFoundError } from '../stored/stored-ids.service';

export interface ResponseReferences {
  readonly previous: string | null;
  readonly items: ReadonlyMap<number, string>;
}

const MAX_REFERENCES = 2_000;
/** Longer ids are never ours. */
export const MAX_ID_LENGTH = 256;

export function findReferences({
  previous_response_id: previous,
  conversation,
  input,
}: JsonFields): ResponseReferences | null {
  const items = new Map<number, string>();
  if (Array.isArray(input)) {
    for (const [index, item] of input.entries()) if (isReference(item)) items.set(index, idOf(item, index));
  }
  if (items.size > MAX_REFERENCES) {
    const max = MAX_REFERENCES.toLocaleString('en');
    throw fault('invalid_request', { param: 'input', message: `input may have at most ${max} references.` });
  }
  if (previous === undefined || previous === null) return items.size === 0 ? null : { previous: null, items };
  if (typeof previous !== 'string' || previous === '' || previous.length > MAX_ID_LENGTH) {
    const message = 'previous_response_id must be the id of an earlier response.';
    throw fault('invalid_request', { param: 'previous_response_id', message });
  }
  if (conversation !== undefined && conversation !== null) {
    const message = 'previous_response_id cannot stand beside conversation.';
    throw fault('invalid_request', { param: 'previous_response_id', message });
  }
  return { previous, items };
}

/** The type of a reference can be left out if the item has only an id. */
const isReference = (item: unknown): item is JsonFields =>
  isRecord(item) &&
  (item.type === 'item_reference' ||
    ((item.type === undefined || item.type === null) && item.role === undefined && item.id !== undefined));

function idOf({ id }: JsonFields, index: number): string {
  if (typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH) return id;
  throw fault('invalid_request', {
    param: `input[${index}].id`,
    message: `input[${index}].id must be the id of an output item of an earlier response.`,
  });
}

export function storageDisabledError({ previous, items }: ResponseReferences): Fault {
  const reason =
    'This service keeps no answers; clients repeat earlier items when they are told store: false.';
  const [first] = items;
  if (previous !== null || first === undefined) return unknownResponseError(previous ?? '', reason);
  return unknownItemError(first[1], first[0], reason);
}

const NOT_STORED_REASON =
  'This key was not given it, or it is older than 24 hours, was not to be stored, or was too much to keep.';

export const unknownItemError = (id: string, index: number, reason = NOT_STORED_REASON): Fault =>
  idNotFoundError({ id, kind: 'item', param: `input[${index}].id` }, reason);

export const unknownResponseError = (id: string, reason = NOT_STORED_REASON): Fault =>
  idNotFoundError({ id, kind: 'response', param: 'previous_response_id' }, reason);

export function itemsOf(input: unknown): readonly unknown[] {
  if (Array.isArray(input)) return input;
  if (typeof input !== 'string') return [];
  return input === '' ? [] : [{ type: 'message', role: 'user', content: input }];
}
