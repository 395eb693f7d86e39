import { hashName } from '../hash';
import { isObject, listOf, objectOf, textOf, type JsonObject } from '../json';

/** Values that a thinking signature covers. */
export interface SignedThinking {
  readonly model: string;
  readonly account: string;
  /** Hash of the conversation before the response. */
  readonly prefix: string;
  readonly thinking: string;
}

const SIGNATURE_MARK = 'ant1';

export function sealOf({ model, account, prefix, thinking }: SignedThinking): string {
  const parts = [SIGNATURE_MARK, model, hashName(account), prefix, hashName(thinking)];
  return Buffer.from(parts.join('|')).toString('base64');
}

export type SealState = 'valid' | 'foreign' | 'altered' | 'moved' | 'unknown';

/** `foreign`: another model or account; `altered`: another text; `moved`: another conversation. */
export function readSeal(signature: string, expected: SignedThinking): SealState {
  const [mark, model, account, prefix, thinking] = Buffer.from(signature, 'base64').toString().split('|');
  if (mark !== SIGNATURE_MARK || thinking === undefined) return 'unknown';
  if (model !== expected.model || account !== hashName(expected.account)) return 'foreign';
  if (thinking !== hashName(expected.thinking)) return 'altered';
  return prefix === expected.prefix ? 'valid' : 'moved';
}

/** Normalises a string to a text block and drops cache marks and thinking. */
function normaliseContent(content: unknown): unknown {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listOf(content)
    .map(objectOf)
    .filter((block) => block['type'] !== 'thinking' && block['type'] !== 'redacted_thinking')
    .map((block) => {
      const { cache_control: _mark, content: inner, ...rest } = block;
      return inner === undefined ? rest : { ...rest, content: normaliseContent(inner) };
    });
}

/** Sorts property names, because clients write them in different orders. */
function sortProperties(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortProperties);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'cache_control')
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, entry]) => [name, sortProperties(entry)]),
  );
}

/** Hash of the conversation before the message at `index`. */
export function prefixBefore(body: JsonObject, index: number): string {
  const messages = listOf(body['messages'])
    .slice(0, index)
    .map(objectOf)
    .map((message) => ({ role: message['role'], content: normaliseContent(message['content']) }));
  const system = body['system'] === undefined ? [] : normaliseContent(body['system']);
  return hashName(JSON.stringify(sortProperties({ system, tools: listOf(body['tools']), messages })));
}

/** Signature values that a thinking block in the message at `index` must have. */
export function sealExpected(
  body: JsonObject,
  account: string,
  index: number,
  block: JsonObject,
): SignedThinking {
  return {
    model: textOf(body['model']),
    account,
    prefix: prefixBefore(body, index),
    thinking: textOf(block['thinking']),
  };
}
