import { JsonText, printJson } from '../../kernel';
import { isOpenSchema, type JsonObject } from '../canonical';
import { isRecord } from '../usage';

/**
 * Claude enforces a subset of JSON Schema and refuses the rest, as its SDK's own transformation shows
 * (@anthropic-ai/sdk 1.14.0, lib/transform-json-schema, 2026-11-26). Refused keywords are moved into descriptions.
 */
const MOVED_KEYWORDS: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
]);

const MAX_COUNTS = { tools: 20, optional: 24, unions: 16 };

/** Tracks how much of the limits the strict tools of one request use. */
export class Enforcement {
  private readonly used = { tools: 0, optional: 0, unions: 0 };
  hasMovedKeywords = false;

  /** Returns the schema in enforceable form; undefined if it cannot be enforced. */
  enforce(schema: JsonObject): JsonObject | undefined {
    if (isOpenSchema(schema) || !isNonRecursive(schema)) return undefined;
    const needed = { tools: 1, ...countsOf(schema) };
    for (const name of ['tools', 'optional', 'unions'] as const)
      if (this.used[name] + needed[name] > MAX_COUNTS[name]) return undefined;
    for (const name of ['tools', 'optional', 'unions'] as const) this.used[name] += needed[name];
    return this.normalise(schema) as JsonObject;
  }

  private normalise(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.normalise(one));
    return isRecord(value) && !(value instanceof JsonText) ? this.normaliseSchema(value) : value;
  }

  private normaliseSchema(schema: JsonObject): JsonObject {
    const result: JsonObject = {};
    const constraints: string[] = [];
    for (const [name, value] of Object.entries(schema)) {
      if (MOVED_KEYWORDS.has(name) || isRefused(name, value))
        constraints.push(`${name}: ${printJson(value)}`);
      else if (name === 'oneOf') result.anyOf = this.normalise(value);
      else if (MAP_KEYWORDS.has(name) && isRecord(value)) result[name] = this.normaliseMap(value);
      else result[name] = NESTED_KEYWORDS.has(name) ? this.normalise(value) : value;
    }
    if (schema.type === 'object' || isRecord(schema.properties)) result.additionalProperties = false;
    if (constraints.length === 0) return result;
    this.hasMovedKeywords = true;
    const rules = `Must keep to ${constraints.join(', ')}.`;
    const { description } = schema;
    return { ...result, description: typeof description === 'string' ? `${description}\n\n${rules}` : rules };
  }

  private normaliseMap(map: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(map).map(([name, schema]) => [name, this.normalise(schema)]));
  }
}

/** Keywords with schemas by name, and with nested schemas; all others are plain values. */
const MAP_KEYWORDS: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const NESTED_KEYWORDS: ReadonlySet<string> = new Set(['items', 'anyOf', 'allOf']);

const isRefused = (name: string, value: unknown): boolean =>
  (name === 'minItems' && !/^[01]$/.test(printJson(value))) ||
  // Look-around, back-references and word boundaries are not supported.
  (name === 'pattern' && (typeof value !== 'string' || /\(\?[^:]|\\[bB1-9]/.test(value)));

function countsOf(schema: unknown): { optional: number; unions: number } {
  const counts = { optional: 0, unions: 0 };
  walk(schema, (one) => {
    const required = new Set(Array.isArray(one.required) ? one.required : []);
    if (isRecord(one.properties))
      counts.optional += Object.keys(one.properties).filter((name) => !required.has(name)).length;
    if (Array.isArray(one.type) || Array.isArray(one.anyOf) || Array.isArray(one.oneOf)) counts.unions += 1;
  });
  return counts;
}

function isNonRecursive(root: JsonObject): boolean {
  const definitions = new Map<string, JsonObject>();
  for (const map of MAP_KEYWORDS)
    for (const [name, schema] of Object.entries(isRecord(root[map]) ? root[map] : {}))
      if (isRecord(schema)) definitions.set(`#/${map}/${name}`, schema);
  const states = new Map<string, 'open' | 'closed'>();
  const isClosed = (target: string): boolean => {
    const state = states.get(target);
    if (state !== undefined) return state === 'closed';
    const schema = definitions.get(target);
    if (schema === undefined) return false;
    // A target that is visited again before it is closed refers to itself.
    states.set(target, 'open');
    const closed = referencesIn(schema)?.every(isClosed) === true;
    if (closed) states.set(target, 'closed');
    return closed;
  };
  return referencesIn(root)?.every(isClosed) === true;
}

/** Undefined if a reference is in a place that is refused. */
function referencesIn(schema: JsonObject): string[] | undefined {
  const targets: string[] = [];
  let isRefused = false;
  walk(schema, ({ $ref: target, allOf }) => {
    if (target !== undefined) targets.push(typeof target === 'string' ? target : 'nowhere');
    isRefused ||= Array.isArray(allOf) && allOf.some((one) => isRecord(one) && one.$ref !== undefined);
  });
  return isRefused ? undefined : targets;
}

function walk(schema: unknown, visit: (schema: JsonObject) => void): void {
  if (Array.isArray(schema)) for (const one of schema) walk(one, visit);
  if (!isRecord(schema) || schema instanceof JsonText) return;
  visit(schema);
  for (const [name, value] of Object.entries(schema)) {
    if (MAP_KEYWORDS.has(name) && isRecord(value)) for (const one of Object.values(value)) walk(one, visit);
    else if (NESTED_KEYWORDS.has(name) || name === 'oneOf') walk(value, visit);
  }
}
