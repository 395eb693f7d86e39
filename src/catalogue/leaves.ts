/** Flattens an object into pairs of dotted path and JSON value. */
export function leavesOf(value: Readonly<Record<string, unknown>>, prefix = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, part]): [string, string][] => {
    const isBranch = typeof part === 'object' && part !== null && !Array.isArray(part);
    if (!isBranch || Object.keys(part).length === 0) return [[prefix + name, JSON.stringify(part)]];
    return leavesOf(part as Record<string, unknown>, `${prefix}${name}.`);
  });
}
