/** The names that a vendor documents for a request body, by the property that holds their object. */
export interface FieldTable {
  /** The empty name stands for the body itself. */
  readonly names: ReadonlyMap<string, ReadonlySet<string>>;
  /** Properties whose objects have names of the caller's choice, such as a JSON schema. */
  readonly free: ReadonlySet<string>;
}

export function fieldTable(names: Readonly<Record<string, string>>, free: string): FieldTable {
  return {
    names: new Map(Object.entries(names).map(([holder, list]) => [holder, new Set(words(list))])),
    free: new Set(words(free)),
  };
}

/** The table with further names. */
export function extendedTable(
  table: FieldTable,
  names: Readonly<Record<string, string>>,
  free: string,
): FieldTable {
  const more = fieldTable(names, free);
  const holders = new Set([...table.names.keys(), ...more.names.keys()]);
  const namesOf = (holder: string): ReadonlySet<string> =>
    new Set([...(table.names.get(holder) ?? []), ...(more.names.get(holder) ?? [])]);
  return {
    names: new Map([...holders].map((holder) => [holder, namesOf(holder)])),
    free: new Set([...table.free, ...more.free]),
  };
}

export const words = (list: string): string[] => list.split(/\s+/).filter((word) => word !== '');
