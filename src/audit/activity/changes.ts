import { redactText } from '../../platform';

type ChangeValue = string | number | boolean | null | readonly ChangeValue[];

export type Changes = Readonly<Record<string, readonly [before: ChangeValue, after: ChangeValue]>>;

const secretName = /secret|password|passphrase|pepper|credential|hash|(^|_)token$|(api|private|root)_key$/;
const MAX_TEXT_LENGTH = 500;
const MAX_ITEMS = 50;
const hiddenValue = '[hidden]';

/**
 * Compares only the fields in `after`; others count as unchanged. A new object has no `before`, a removed one no
 * `after`.
 */
export function changesOf(before: object | null, after: object | null): Changes {
  const earlier = new Map(Object.entries(before ?? {}));
  const later = new Map(Object.entries(after ?? {}));
  const names = after === null ? earlier.keys() : later.keys();
  const changes: Record<string, [ChangeValue, ChangeValue]> = {};
  for (const name of names) {
    const [was, is] = [plainOf(earlier.get(name)), plainOf(later.get(name))];
    if (JSON.stringify(was) !== JSON.stringify(is)) changes[name] = [was, is];
  }
  return changes;
}

/** Changes as stored: without secrets, and limited in length. */
export function storedChanges(changes: Changes): Changes {
  const storedValue = (name: string, value: ChangeValue): ChangeValue =>
    value !== null && secretName.test(snakeCase(name)) ? hiddenValue : limitLength(value);
  return Object.fromEntries(
    Object.entries(changes).map(([name, [was, is]]) => [
      name,
      [storedValue(name, was), storedValue(name, is)],
    ]),
  );
}

const snakeCase = (name: string): string => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();

function plainOf(value: unknown): ChangeValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(plainOf);
  const text = (_name: string, inner: unknown): unknown =>
    typeof inner === 'bigint' ? inner.toString() : inner;
  return JSON.stringify(value, text) ?? null;
}

function limitLength(value: ChangeValue): ChangeValue {
  if (typeof value === 'string') return boundedText(value);
  if (typeof value !== 'object' || value === null) return value;
  const items = value.slice(0, MAX_ITEMS).map(limitLength);
  return value.length > MAX_ITEMS ? [...items, `… (${value.length})`] : items;
}

export function boundedText(text: string): string {
  const safe = redactText(text).replaceAll('\0', '');
  return safe.length > MAX_TEXT_LENGTH ? `${safe.slice(0, MAX_TEXT_LENGTH)}…` : safe;
}
