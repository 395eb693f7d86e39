/** Returns the table's own entry under a key from outside, which might be a name that every object inherits. */
export const entryOf = <T>(table: Readonly<Partial<Record<string, T>>>, key: string): T | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;
