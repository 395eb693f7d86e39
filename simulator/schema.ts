import { entryOf, isObject, listOf, numberOf, objectOf, textOf, type JsonObject } from './json';

const formats: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  time: '00:00:00Z',
  'date-time': '2026-01-01T00:00:00Z',
  email: 'sim@example.com',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
};
const MAX_DEPTH = 12;

/** Returns the smallest value a JSON schema accepts: required properties only, first branch of each choice. */
export function minimalValue(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isObject(schema) || depth > MAX_DEPTH) return {};
  if ('const' in schema) return schema['const'];
  if ('default' in schema) return schema['default'];
  if (listOf(schema['enum']).length > 0) return listOf(schema['enum'])[0];
  if (typeof schema['$ref'] === 'string') return minimalValue(resolve(schema['$ref'], root), root, depth + 1);
  const choice = listOf(schema['anyOf'] ?? schema['oneOf'])[0];
  if (choice !== undefined) return minimalValue(choice, root, depth + 1);
  const parts = listOf(schema['allOf']);
  if (parts.length > 0) return minimalValue(merge(schema, parts, root), root, depth + 1);
  return byType(schema, root, depth);
}

function byType(schema: JsonObject, root: unknown, depth: number): unknown {
  switch (typeName(schema)) {
    case 'string':
      return minimalText(schema);
    case 'integer':
    case 'number':
      return minimalNumber(schema);
    case 'boolean':
      return false;
    case 'null':
      return null;
    case 'array':
      return Array.from({ length: numberOf(schema['minItems']) ?? 0 }, () =>
        minimalValue(schema['items'], root, depth + 1),
      );
    default:
      return minimalObject(schema, root, depth);
  }
}

function typeName(schema: JsonObject): string {
  const type = schema['type'];
  if (Array.isArray(type)) return textOf(type[0]);
  if (typeof type === 'string') return type;
  return 'items' in schema ? 'array' : 'object';
}

function minimalObject(schema: JsonObject, root: unknown, depth: number): JsonObject {
  const properties = objectOf(schema['properties']);
  const names = listOf(schema['required']).map(textOf);
  return Object.fromEntries(
    names.map((name) => [name, minimalValue(properties[name] ?? {}, root, depth + 1)]),
  );
}

function minimalText(schema: JsonObject): string {
  const format = entryOf(formats, textOf(schema['format']));
  if (format !== undefined) return format;
  const maxLength = numberOf(schema['maxLength']) ?? Infinity;
  return 'sim'.padEnd(numberOf(schema['minLength']) ?? 0, 'x').slice(0, maxLength);
}

function minimalNumber(schema: JsonObject): number {
  const step = numberOf(schema['multipleOf']) ?? 1;
  const exclusiveMin = numberOf(schema['exclusiveMinimum']);
  const min = exclusiveMin === undefined ? numberOf(schema['minimum']) : exclusiveMin + Math.min(step, 1);
  const max = numberOf(schema['maximum']) ?? Infinity;
  return Math.min(Math.ceil((min ?? 1) / step) * step, max);
}

function merge(schema: JsonObject, parts: readonly unknown[], root: unknown): JsonObject {
  const all = [schema, ...parts.map(objectOf)].map((part) =>
    typeof part['$ref'] === 'string' ? objectOf(resolve(part['$ref'], root)) : part,
  );
  return {
    ...joinSchemas(all),
    allOf: [],
    properties: joinSchemas(all.map((part) => objectOf(part['properties']))),
    required: all.flatMap((part) => listOf(part['required'])),
  };
}

function joinSchemas(parts: readonly JsonObject[]): JsonObject {
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part)));
}

function resolve(reference: string, root: unknown): unknown {
  let value: unknown = root;
  for (const step of reference.replace(/^#\/?/, '').split('/').filter(Boolean)) value = objectOf(value)[step];
  return value;
}
