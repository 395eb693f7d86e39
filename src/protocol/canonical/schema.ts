import { JsonText } from '../../kernel';
import { isRecord } from '../usage';
import { type JsonObject } from './request';

function childSchemas(schema: JsonObject): JsonObject[] {
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

/**
 * https://platform.openai.com/docs/guides/structured-outputs (2026-11-26): strict mode supports no composition except
 * `anyOf`.
 */
const UNSUPPORTED_IN_STRICT = ['oneOf', 'allOf', 'not', 'if', 'then', 'else', 'patternProperties'] as const;

/** Strict mode of the OpenAI dialects: every object closed, every property required, no choice but `anyOf`. */
export function isStrictSchema(schema: JsonObject): boolean {
  if (UNSUPPORTED_IN_STRICT.some((name) => schema[name] !== undefined)) return false;
  if (isObjectSchema(schema)) {
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const properties = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
    if (schema.additionalProperties !== false || !properties.every((name) => required.has(name)))
      return false;
  }
  return childSchemas(schema).every(isStrictSchema);
}

/** Whether some object of the schema explicitly allows additional properties. */
export function isOpenSchema(schema: JsonObject): boolean {
  const { additionalProperties: additional } = schema;
  const open = isObjectSchema(schema) && additional !== undefined && additional !== false;
  return open || childSchemas(schema).some(isOpenSchema);
}

/** A copy in which every object without `additionalProperties` is closed. */
export function closedSchema(schema: JsonObject): JsonObject {
  const copy = copyOf(schema) as JsonObject;
  close(copy);
  return copy;
}

/** Deep copy; JsonText values, which keep numbers as text, are shared. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isRecord(value) || value instanceof JsonText) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copyOf(inner)]));
}

function close(schema: JsonObject): void {
  if (isObjectSchema(schema)) schema.additionalProperties ??= false;
  childSchemas(schema).forEach(close);
}
