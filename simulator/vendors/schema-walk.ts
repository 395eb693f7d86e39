import { isObject, type JsonObject } from '../json';

/** Fields of a schema that hold one schema, and those that hold several. */
const single = ['items', 'additionalProperties', 'not', 'if', 'then', 'else'];
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const maps = ['properties', '$defs', 'definitions'];
const deepest = 64;

export interface SchemaNode {
  readonly schema: JsonObject;
  /** The steps that lead to it: `properties`, a name, `items`. */
  readonly path: readonly string[];
}

/** A schema and every schema within it, from the outside in. */
export function* schemasIn(schema: unknown, path: readonly string[] = []): Generator<SchemaNode> {
  if (!isObject(schema) || path.length > deepest) return;
  yield { schema, path };
  for (const name of single) yield* schemasIn(schema[name], [...path, name]);
  for (const name of lists) {
    const list = schema[name];
    if (!Array.isArray(list)) continue;
    for (const [index, entry] of list.entries()) yield* schemasIn(entry, [...path, name, String(index)]);
  }
  for (const name of maps) {
    const map = schema[name];
    if (!isObject(map)) continue;
    for (const [key, entry] of Object.entries(map)) yield* schemasIn(entry, [...path, name, key]);
  }
}
