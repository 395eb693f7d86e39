import { redactText } from '../../platform';

type Plain = string | number | boolean | null | readonly Plain[];

/** Every changed field has its old and its new value here; null stands for an absent one. */
export type Changes = Readonly<Record<string, readonly [before: Plain, after: Plain]>>;

const secretName = /secret|password|passphrase|pepper|credential|hash|(^|_)token$|(api|private|root)_key$/;
const LONGEST_TEXT = 500;
const MOST_ITEMS = 50;
const hiddenValue = '[hidden]';

/**
 * The difference that an update makes. `after` holds the submitted fields alone: others count as unchanged. A new
 * object has no `before`, a removed one no `after`.
 */
export function changesOf(before: object | null, after: object | null): Changes {
  const earlier = new Map(Object.entries(before ?? {}));
  const later = new Map(Object.entries(after ?? {}));
  const names = after === null ? earlier.keys() : later.keys();
  const changes: Record<string, [Plain, Plain]> = {};
  for (const name of names) {
    const [was, is] = [plainOf(earlier.get(name)), plainOf(later.get(name))];
    if (JSON.stringify(was) !== JSON.stringify(is)) changes[name] = [was, is];
  }
  return changes;
}

/** The changes as they are stored: without secrets, and bounded in length. */
export function storedChanges(changes: Changes): Changes {
  const shown = (name: string, value: Plain): Plain =>
    value !== null && secretName.test(snakeCase(name)) ? hiddenValue : bounded(value);
  return Object.fromEntries(
    Object.entries(changes).map(([name, [was, is]]) => [name, [shown(name, was), shown(name, is)]]),
  );
}

const snakeCase = (name: string): string => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();

function plainOf(value: unknown): Plain {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(plainOf);
  const text = (_name: string, inner: unknown): unknown =>
    typeof inner === 'bigint' ? inner.toString() : inner;
  return JSON.stringify(value, text) ?? null;
}

function bounded(value: Plain): Plain {
  if (typeof value === 'string') return boundedText(value);
  if (typeof value !== 'object' || value === null) return value;
  const items = value.slice(0, MOST_ITEMS).map(bounded);
  return value.length > MOST_ITEMS ? [...items, `… (${value.length})`] : items;
}

export function boundedText(text: string): string {
  const safe = redactText(text).replaceAll('\0', '');
  return safe.length > LONGEST_TEXT ? `${safe.slice(0, LONGEST_TEXT)}…` : safe;
}
