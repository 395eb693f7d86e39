import { fault } from '../../kernel';

type Fields = Readonly<Record<string, unknown>>;

const LONGEST_END_USER = 256;
const LONGEST_TAG = 64;
const MOST_TAGS = 10;
const LONGEST_PATH = 200;
/** Property names with a meaning in JavaScript: code that copies labels would misbehave. */
const reserved: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** The caller makes a request for this user; the text is cut, not refused, as it changes nothing of the answer. */
export const endUserOf = ({ user }: Fields): string | null =>
  typeof user === 'string' && user !== '' ? user.slice(0, LONGEST_END_USER) : null;

/** The caller sorts its requests by these tags, each once and the first ten. Most requests have no metadata at all. */
export function tagsOf({ metadata }: Fields): readonly string[] | null {
  if (typeof metadata !== 'object' || metadata === null) return null;
  const given: unknown = Reflect.get(metadata, 'tags');
  if (!Array.isArray(given)) return null;
  const tags = new Set<string>();
  for (const tag of given as readonly unknown[]) {
    if (tags.size === MOST_TAGS) break;
    if (typeof tag === 'string' && tag.trim() !== '') tags.add(tag.trim().slice(0, LONGEST_TAG));
  }
  return tags.size === 0 ? null : [...tags];
}

/** Labels go on to others, so none is named like a part of every object. */
export function checkLabels({ metadata }: Fields): void {
  if (typeof metadata === 'object' && metadata !== null) checkNames(metadata, 'metadata');
}

/** The depth was bounded when the body was parsed. */
function checkNames(labels: object, path: string): void {
  for (const [name, value] of Object.entries(labels) as [string, unknown][]) {
    const param = `${path}.${name}`.slice(0, LONGEST_PATH);
    if (reserved.has(name)) {
      throw fault('invalid_request', { param, message: `${param}: a label must have another name.` });
    }
    if (typeof value === 'object' && value !== null) checkNames(value, param);
  }
}
