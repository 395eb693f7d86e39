/** A table's entry under a word from outside, which may be one that every object inherits. */
export const entryOf = <T>(table: Readonly<Partial<Record<string, T>>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;
