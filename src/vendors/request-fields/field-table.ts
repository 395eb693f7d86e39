/** The field names that a vendor documents for a request body, by the property that holds their object. */
export interface FieldTable {
  /** Keyed by property; the empty name is the body itself. */
  readonly names: ReadonlyMap<string, ReadonlySet<string>>;
  /** Properties whose objects have caller-defined names, such as a JSON schema. */
  readonly free: ReadonlySet<string>;
}

export function fieldTable(names: Readonly<Record<string, string>>, free: string): FieldTable {
  return {
    names: new Map(Object.entries(names).map(([holder, list]) => [holder, new Set(words(list))])),
    free: new Set(words(free)),
  };
}

export function extendTable(
  table: FieldTable,
  names: Readonly<Record<string, string>>,
  free: string,
): FieldTable {
  const additional = fieldTable(names, free);
  const holders = new Set([...table.names.keys(), ...additional.names.keys()]);
  const namesOf = (holder: string): ReadonlySet<string> =>
    new Set([...(table.names.get(holder) ?? []), ...(additional.names.get(holder) ?? [])]);
  return {
    names: new Map([...holders].map((holder) => [holder, namesOf(holder)])),
    free: new Set([...table.free, ...additional.free]),
  };
}

export const words = (list: string): string[] => list.split(/\s+/).filter((word) => word !== '');
