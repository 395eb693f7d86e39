export type PathStep = string | number;

const MAX_DEPTH = 6;
const MAX_PATHS = 120;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Paths of all values and lists; only the first and last item of a list count. */
export function pathsIn(value: unknown): (readonly PathStep[])[] {
  const paths: (readonly PathStep[])[] = [];
  const walk = (inner: unknown, path: readonly PathStep[]): void => {
    if (path.length > 0 && !isObject(inner)) paths.push(path);
    if (path.length >= MAX_DEPTH || paths.length >= MAX_PATHS) return;
    if (Array.isArray(inner)) {
      for (const index of new Set([0, inner.length - 1]))
        if (index in inner) walk(inner[index], [...path, index]);
    } else if (isObject(inner)) for (const [name, one] of Object.entries(inner)) walk(one, [...path, name]);
  };
  walk(value, []);
  return paths;
}

/** Returns a copy with the value at this path removed, changed, or of another type; undefined if there is none. */
export function changeAt(
  value: unknown,
  path: readonly PathStep[],
  kind: 'drop' | 'alter' | 'retype',
): unknown {
  const [step, ...rest] = path;
  if (step === undefined || typeof value !== 'object' || value === null || !(step in value)) return undefined;
  const inner = (value as Record<PathStep, unknown>)[step];
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<PathStep, unknown>;
  if (rest.length > 0) {
    const changedInner = changeAt(inner, rest, kind);
    if (changedInner === undefined) return undefined;
    copy[step] = changedInner;
  } else if (kind === 'drop') {
    if (Array.isArray(copy)) copy.splice(Number(step), 1);
    else delete copy[step];
  } else copy[step] = kind === 'alter' ? alterValue(inner) : changeType(inner);
  return copy;
}

function alterValue(value: unknown): unknown {
  if (typeof value === 'string') return `${value}x`;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (value === null) return 'x';
  return Array.isArray(value) ? [] : {};
}

const changeType = (value: unknown): unknown =>
  typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : typeof value === 'string'
      ? 1
      : 'x';
