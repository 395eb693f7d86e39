import { isObject, type JsonObject } from '../json';

/** Schema keywords whose value is one schema; those below hold several. */
const singleKeywords = ['items', 'additionalProperties', 'not', 'if', 'then', 'else'];
const listKeywords = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const mapKeywords = ['properties', '$defs', 'definitions'];
const MAX_DEPTH = 64;

export interface SchemaNode {
  readonly schema: JsonObject;
  /** Steps from the root: `properties`, a name, `items`. */
  readonly path: readonly string[];
}

/** Yields a schema and all schemas within it, outermost first. */
export function* schemasIn(schema: unknown, path: readonly string[] = []): Generator<SchemaNode> {
  if (!isObject(schema) || path.length > MAX_DEPTH) return;
  yield { schema, path };
  for (const name of singleKeywords) yield* schemasIn(schema[name], [...path, name]);
  for (const name of listKeywords) {
    const list = schema[name];
    if (!Array.isArray(list)) continue;
    for (const [index, entry] of list.entries()) yield* schemasIn(entry, [...path, name, String(index)]);
  }
  for (const name of mapKeywords) {
    const map = schema[name];
    if (!isObject(map)) continue;
    for (const [key, entry] of Object.entries(map)) yield* schemasIn(entry, [...path, name, key]);
  }
}
