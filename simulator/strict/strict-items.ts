import { entryOf, listOf, objectOf, textOf, type JsonObject } from '../json';
import type { Stored } from '../dialects/response-shelf';
import { firstOf, invalidValue, missingParameter, type Check } from './strict';

/** The ids of each kind begin so. */
const prefixes: Readonly<Record<string, string>> = { message: 'msg', function_call: 'fc', reasoning: 'rs' };

/** A reference may leave out its type, if it has nothing but an id. */
const isReference = (item: JsonObject): boolean =>
  item['type'] === 'item_reference' ||
  ((item['type'] === undefined || item['type'] === null) && item['role'] === undefined);

/** The conversation that a body means: what it continues, and its own items with references in their place. */
export function conversationOf(body: JsonObject, stored: Stored): readonly JsonObject[] {
  const { input } = body;
  const own = typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input).map(objectOf);
  const earlier = stored.conversation(textOf(body['previous_response_id'])) ?? [];
  return [
    ...earlier,
    ...own.map((item) => (isReference(item) ? (stored.item(textOf(item['id']))?.item ?? item) : item)),
  ];
}

/** References of a body must be stored, and items that belong together must be there together. */
export function checkItems(body: JsonObject, stored: Stored): Check {
  const previous = body['previous_response_id'];
  if (typeof previous === 'string' && stored.conversation(previous) === undefined) {
    return {
      message: `Previous response with id '${previous}' not found.`,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    };
  }
  const own = listOf(body['input']).map(objectOf);
  const whole = conversationOf(body, stored);
  return (
    firstOf(own, (item, index) => checkId(item, index, body, stored)) ??
    firstOf(own, (item, index) => checkReasoning(item, index, own, stored)) ??
    firstOf(own, (item) => checkCompany(item, whole, stored)) ??
    checkPairs(whole)
  );
}

function checkId(item: JsonObject, index: number, body: JsonObject, stored: Stored): Check {
  const { id, type } = item;
  const path = `input[${index}].id`;
  if (isReference(item)) {
    if (typeof id !== 'string') return missingParameter(path);
    return stored.item(id) === undefined ? notFound(id, body) : undefined;
  }
  const kind = textOf(type ?? 'message');
  if (id === undefined || id === null) {
    const needsIt = kind === 'reasoning' && typeof item['encrypted_content'] !== 'string';
    return needsIt ? missingParameter(path) : undefined;
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

/** Reasoning stands before what it led to. */
function checkReasoning(item: JsonObject, index: number, own: readonly JsonObject[], stored: Stored): Check {
  if (kindOf(item, stored) !== 'reasoning') return undefined;
  const next = own[index + 1];
  if (next !== undefined && isWritten(next, stored)) return undefined;
  return {
    message: `Item '${textOf(item['id'])}' of type 'reasoning' was provided without its required following item.`,
    param: 'input',
  };
}

/** The items after a stored reasoning item are not taken without it. */
function checkCompany(item: JsonObject, whole: readonly JsonObject[], stored: Stored): Check {
  const id = textOf(item['id']);
  const found = stored.item(id);
  const { reasoning } = found ?? {};
  if (found === undefined || reasoning === undefined) return undefined;
  if (whole.some((other) => other['id'] === reasoning)) return undefined;
  const type = textOf(found.item['type']);
  return {
    message: `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${reasoning}'.`,
    param: 'input',
  };
}

const resolved = (item: JsonObject, stored: Stored): JsonObject =>
  isReference(item) ? (stored.item(textOf(item['id']))?.item ?? item) : item;

const kindOf = (item: JsonObject, stored: Stored): string =>
  textOf(resolved(item, stored)['type'] ?? 'message');

/** By the model: words of its own, calls, more reasoning. */
function isWritten(item: JsonObject, stored: Stored): boolean {
  const kind = kindOf(item, stored);
  if (kind === 'message') return resolved(item, stored)['role'] === 'assistant';
  return !kind.endsWith('_output');
}

/** Calls and their outputs come in pairs. */
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
