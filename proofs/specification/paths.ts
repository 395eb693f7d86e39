export type Step = string | number;

const DEEPEST = 6;
const MOST = 120;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The ways to all values and lists; of a list its first and last member count. */
export function pathsIn(value: unknown): (readonly Step[])[] {
  const found: (readonly Step[])[] = [];
  const walk = (inner: unknown, path: readonly Step[]): void => {
    if (path.length > 0 && !isObject(inner)) found.push(path);
    if (path.length >= DEEPEST || found.length >= MOST) return;
    if (Array.isArray(inner)) {
      for (const index of new Set([0, inner.length - 1]))
        if (index in inner) walk(inner[index], [...path, index]);
    } else if (isObject(inner)) for (const [name, one] of Object.entries(inner)) walk(one, [...path, name]);
  };
  walk(value, []);
  return found;
}

/** A copy in which the value at this place is left out, another, or of another type; undefined where it has none. */
export function changeAt(value: unknown, path: readonly Step[], kind: 'drop' | 'alter' | 'retype'): unknown {
  const [step, ...rest] = path;
  if (step === undefined || typeof value !== 'object' || value === null || !(step in value)) return undefined;
  const inner = (value as Record<Step, unknown>)[step];
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<Step, unknown>;
  if (rest.length > 0) {
    const changed = changeAt(inner, rest, kind);
    if (changed === undefined) return undefined;
    copy[step] = changed;
  } else if (kind === 'drop') {
    if (Array.isArray(copy)) copy.splice(Number(step), 1);
    else delete copy[step];
  } else copy[step] = kind === 'alter' ? altered(inner) : retyped(inner);
  return copy;
}

function altered(value: unknown): unknown {
  if (typeof value === 'string') return `${value}x`;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (value === null) return 'x';
  return Array.isArray(value) ? [] : {};
}

const retyped = (value: unknown): unknown =>
  typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : typeof value === 'string'
      ? 1
      : 'x';
