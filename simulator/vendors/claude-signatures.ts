import { hashName } from '../hash';
import { isObject, listOf, objectOf, textOf, type JsonObject } from '../json';

/** A signature under thinking vouches for these. */
export interface Sealed {
  readonly model: string;
  readonly account: string;
  /** Of everything before the answer that was thought about. */
  readonly prefix: string;
  readonly thinking: string;
}

const MARK = 'ant1';

export function sealOf({ model, account, prefix, thinking }: Sealed): string {
  const parts = [MARK, model, hashName(account), prefix, hashName(thinking)];
  return Buffer.from(parts.join('|')).toString('base64');
}

export type SealState = 'valid' | 'foreign' | 'altered' | 'moved' | 'unknown';

/** `foreign`: of another model or account. `altered`: of another text. `moved`: of another conversation. */
export function readSeal(signature: string, expected: Sealed): SealState {
  const [mark, model, account, prefix, thinking] = Buffer.from(signature, 'base64').toString().split('|');
  if (mark !== MARK || thinking === undefined) return 'unknown';
  if (model !== expected.model || account !== hashName(expected.account)) return 'foreign';
  if (thinking !== hashName(expected.thinking)) return 'altered';
  return prefix === expected.prefix ? 'valid' : 'moved';
}

/** A text and one block of that text are the same; marks for caches and what was thought are no content. */
function plain(content: unknown): unknown {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listOf(content)
    .map(objectOf)
    .filter((block) => block['type'] !== 'thinking' && block['type'] !== 'redacted_thinking')
    .map((block) => {
      const { cache_control: _mark, content: inner, ...rest } = block;
      return inner === undefined ? rest : { ...rest, content: plain(inner) };
    });
}

/** Names in one order, since clients write them in theirs. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'cache_control')
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, entry]) => [name, ordered(entry)]),
  );
}

/** Everything that was said before the message at `index`, as one short name. */
export function prefixBefore(body: JsonObject, index: number): string {
  const messages = listOf(body['messages'])
    .slice(0, index)
    .map(objectOf)
    .map((message) => ({ role: message['role'], content: plain(message['content']) }));
  const system = body['system'] === undefined ? [] : plain(body['system']);
  return hashName(JSON.stringify(ordered({ system, tools: listOf(body['tools']), messages })));
}

/** A thinking block in the message at `index` has to be signed with this. */
export function sealExpected(body: JsonObject, account: string, index: number, block: JsonObject): Sealed {
  return {
    model: textOf(body['model']),
    account,
    prefix: prefixBefore(body, index),
    thinking: textOf(block['thinking']),
  };
}
