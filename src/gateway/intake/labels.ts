import { fault } from '../../kernel';

type LabelFields = Readonly<Record<string, unknown>>;

const MAX_END_USER_LENGTH = 256;
const MAX_TAG_LENGTH = 64;
const MAX_TAGS = 10;
const MAX_PATH_LENGTH = 200;
/** Names that JavaScript treats specially: copying them can change the prototype of an object. */
const reservedNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** The caller's id of its end user. Cut rather than refused, as it does not change the response. */
export const endUserOf = ({ user }: LabelFields): string | null =>
  typeof user === 'string' && user !== '' ? user.slice(0, MAX_END_USER_LENGTH) : null;

export function tagsOf({ metadata }: LabelFields): readonly string[] | null {
  if (typeof metadata !== 'object' || metadata === null) return null;
  const tagList: unknown = Reflect.get(metadata, 'tags');
  if (!Array.isArray(tagList)) return null;
  const tags = new Set<string>();
  for (const tag of tagList as readonly unknown[]) {
    if (tags.size === MAX_TAGS) break;
    if (typeof tag === 'string' && tag.trim() !== '') tags.add(tag.trim().slice(0, MAX_TAG_LENGTH));
  }
  return tags.size === 0 ? null : [...tags];
}

/** Refuses labels named like members of every object, as labels are passed on to others. */
export function checkLabels({ metadata }: LabelFields): void {
  if (typeof metadata === 'object' && metadata !== null) checkNames(metadata, 'metadata');
}

/** Recursion depth is limited by the body parser. */
function checkNames(labels: object, path: string): void {
  for (const [name, value] of Object.entries(labels) as [string, unknown][]) {
    const param = `${path}.${name}`.slice(0, MAX_PATH_LENGTH);
    if (reservedNames.has(name)) {
      throw fault('invalid_request', { param, message: `${param}: a label must have another name.` });
    }
    if (typeof value === 'object' && value !== null) checkNames(value, param);
  }
}
