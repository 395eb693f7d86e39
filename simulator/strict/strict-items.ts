import { entryOf, listOf, objectOf, textOf, type JsonObject } from '../json';
import type { KeyResponses } from '../dialects/response-store';
import { firstOf, invalidValue, missingParameter, type Check } from './strict';

/** Prefix of ids per item type. */
const prefixes: Readonly<Record<string, string>> = { message: 'msg', function_call: 'fc', reasoning: 'rs' };

/** A reference with nothing but an id may omit its type. */
const isReference = (item: JsonObject): boolean =>
  item['type'] === 'item_reference' ||
  ((item['type'] === undefined || item['type'] === null) && item['role'] === undefined);

/** Returns the conversation a body refers to: the continued response, and the body's items with references resolved. */
export function conversationOf(body: JsonObject, stored: KeyResponses): readonly JsonObject[] {
  const { input } = body;
  const ownItems =
    typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input).map(objectOf);
  const earlier = stored.conversation(textOf(body['previous_response_id'])) ?? [];
  return [
    ...earlier,
    ...ownItems.map((item) => (isReference(item) ? (stored.item(textOf(item['id']))?.item ?? item) : item)),
  ];
}

/** Requires that references are stored and that related items are sent together. */
export function checkItems(body: JsonObject, stored: KeyResponses): Check {
  const previous = body['previous_response_id'];
  if (typeof previous === 'string' && stored.conversation(previous) === undefined) {
    return {
      message: `Previous response with id '${previous}' not found.`,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    };
  }
  const ownItems = listOf(body['input']).map(objectOf);
  const conversation = conversationOf(body, stored);
  return (
    firstOf(ownItems, (item, index) => checkId(item, index, body, stored)) ??
    firstOf(ownItems, (item, index) => checkReasoning(item, index, ownItems, stored)) ??
    firstOf(ownItems, (item) => checkRequiredReasoning(item, conversation, stored)) ??
    checkPairs(conversation)
  );
}

function checkId(item: JsonObject, index: number, body: JsonObject, stored: KeyResponses): Check {
  const { id, type } = item;
  const path = `input[${index}].id`;
  if (isReference(item)) {
    if (typeof id !== 'string') return missingParameter(path);
    return stored.item(id) === undefined ? notFound(id, body) : undefined;
  }
  const kind = textOf(type ?? 'message');
  if (id === undefined || id === null) {
    const mustBeStored = kind === 'reasoning' && typeof item['encrypted_content'] !== 'string';
    return mustBeStored ? missingParameter(path) : undefined;
  }
  const prefix = entryOf(prefixes, kind);
  if (prefix !== undefined && !textOf(id).startsWith(prefix)) {
    const expected = `Expected an ID that begins with '${prefix}'.`;
    return invalidValue(path, `Invalid '${path}': '${textOf(id)}'. ${expected}`);
  }
  const isLookedUp = kind === 'reasoning' && typeof item['encrypted_content'] !== 'string';
  return isLookedUp && stored.item(textOf(id)) === undefined ? notFound(textOf(id), body) : undefined;
}

function notFound(id: string, { store }: JsonObject): Check {
  const hint =
    ' Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item ' +
    'from your input.';
  return {
    status: 404,
    message: `Item with id '${id}' not found.${store === false ? hint : ''}`,
    param: 'input',
  };
}

/** Requires that reasoning precedes the item it led to. */
function checkReasoning(
  item: JsonObject,
  index: number,
  ownItems: readonly JsonObject[],
  stored: KeyResponses,
): Check {
  if (kindOf(item, stored) !== 'reasoning') return undefined;
  const next = ownItems[index + 1];
  if (next !== undefined && isWrittenByModel(next, stored)) return undefined;
  return {
    message: `Item '${textOf(item['id'])}' of type 'reasoning' was provided without its required following item.`,
    param: 'input',
  };
}

/** Rejects items whose stored reasoning item is missing from the conversation. */
function checkRequiredReasoning(
  item: JsonObject,
  conversation: readonly JsonObject[],
  stored: KeyResponses,
): Check {
  const id = textOf(item['id']);
  const storedItem = stored.item(id);
  const { reasoning } = storedItem ?? {};
  if (storedItem === undefined || reasoning === undefined) return undefined;
  if (conversation.some((other) => other['id'] === reasoning)) return undefined;
  const type = textOf(storedItem.item['type']);
  return {
    message: `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${reasoning}'.`,
    param: 'input',
  };
}

const resolveItem = (item: JsonObject, stored: KeyResponses): JsonObject =>
  isReference(item) ? (stored.item(textOf(item['id']))?.item ?? item) : item;

const kindOf = (item: JsonObject, stored: KeyResponses): string =>
  textOf(resolveItem(item, stored)['type'] ?? 'message');

/** Whether the model wrote the item: text, a call or further reasoning. */
function isWrittenByModel(item: JsonObject, stored: KeyResponses): boolean {
  const kind = kindOf(item, stored);
  if (kind === 'message') return resolveItem(item, stored)['role'] === 'assistant';
  return !kind.endsWith('_output');
}

/** Requires an output for every call and a call for every output. */
function checkPairs(items: readonly JsonObject[]): Check {
  const idsOf = (type: string): string[] =>
    items.filter((item) => item['type'] === type).map((item) => textOf(item['call_id']));
  const calls = new Set(idsOf('function_call'));
  const outputs = idsOf('function_call_output');
  const answered = new Set(outputs);
  const stray = outputs.find((id) => !calls.has(id));
  if (stray !== undefined) {
    return invalidValue('input', `No tool call found for function call output with call_id ${stray}.`);
  }
  const open = [...calls].find((id) => !answered.has(id));
  return open === undefined
    ? undefined
    : invalidValue('input', `No tool output found for function call ${open}.`);
}
