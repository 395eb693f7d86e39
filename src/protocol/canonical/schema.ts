import { JsonText } from '../../kernel';
import { isRecord } from '../usage';
import { type JsonObject } from './request';

/** The schemas directly inside a schema. */
function children(schema: JsonObject): JsonObject[] {
  const maps = [schema.properties, schema.$defs, schema.definitions].filter(isRecord);
  const lists = [schema.anyOf, schema.allOf, schema.oneOf, schema.prefixItems].filter((list) =>
    Array.isArray(list),
  );
  const inside: unknown[] = [...maps.flatMap((map) => Object.values(map)), schema.items];
  for (const list of lists) inside.push(...(list as unknown[]));
  return inside.filter(isRecord);
}

const isObjectSchema = (schema: JsonObject): boolean =>
  schema.type === 'object' || isRecord(schema.properties);

/** https://platform.openai.com/docs/guides/structured-outputs (2026-11-26): of choices, strict mode knows `anyOf`. */
const NOT_STRICT = ['oneOf', 'allOf', 'not', 'if', 'then', 'else', 'patternProperties'] as const;

/** Strict mode of the OpenAI dialects: every object closed, every property required, no choice but `anyOf`. */
export function isStrictSchema(schema: JsonObject): boolean {
  if (NOT_STRICT.some((name) => schema[name] !== undefined)) return false;
  if (isObjectSchema(schema)) {
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const properties = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
    if (schema.additionalProperties !== false || !properties.every((name) => required.has(name)))
      return false;
  }
  return children(schema).every(isStrictSchema);
}

/** Some object of the schema expressly takes further properties. */
export function isOpenSchema(schema: JsonObject): boolean {
  const { additionalProperties: more } = schema;
  const open = isObjectSchema(schema) && more !== undefined && more !== false;
  return open || children(schema).some(isOpenSchema);
}

/** The same schema with every object closed that did not say whether it is. */
export function closedSchema(schema: JsonObject): JsonObject {
  const copy = copyOf(schema) as JsonObject;
  close(copy);
  return copy;
}

/** Numbers that are kept as texts are shared. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isRecord(value) || value instanceof JsonText) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copyOf(inner)]));
}

function close(schema: JsonObject): void {
  if (isObjectSchema(schema)) schema.additionalProperties ??= false;
  children(schema).forEach(close);
}
