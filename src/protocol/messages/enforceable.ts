import { JsonText, printJson } from '../../kernel';
import { isOpenSchema, type JsonObject } from '../canonical';
import { isRecord } from '../usage';

/**
 * Claude enforces a part of JSON Schema and refuses the rest, as its SDK's own transformation shows
 * (@anthropic-ai/sdk 1.14.0, lib/transform-json-schema, 2026-11-26). The keywords that it refuses move into
 * descriptions.
 */
const MOVED: ReadonlySet<string> = new Set([
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

/** One request may ask for so much of it. */
const MOST = { tools: 20, optional: 24, unions: 16 };

/** Counts what the strict tools of one request take of its limits. */
export class Enforcement {
  private readonly taken = { tools: 0, optional: 0, unions: 0 };
  /** Something of a schema was moved into a description. */
  moved = false;

  /** The schema as it can be enforced; undefined where it cannot be. */
  take(schema: JsonObject): JsonObject | undefined {
    if (isOpenSchema(schema) || !isBounded(schema)) return undefined;
    const asked = { tools: 1, ...countsOf(schema) };
    for (const name of ['tools', 'optional', 'unions'] as const)
      if (this.taken[name] + asked[name] > MOST[name]) return undefined;
    for (const name of ['tools', 'optional', 'unions'] as const) this.taken[name] += asked[name];
    return this.mended(schema) as JsonObject;
  }

  private mended(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.mended(one));
    return isRecord(value) && !(value instanceof JsonText) ? this.mendedSchema(value) : value;
  }

  private mendedSchema(schema: JsonObject): JsonObject {
    const kept: JsonObject = {};
    const told: string[] = [];
    for (const [name, value] of Object.entries(schema)) {
      if (MOVED.has(name) || isRefused(name, value)) told.push(`${name}: ${printJson(value)}`);
      else if (name === 'oneOf') kept.anyOf = this.mended(value);
      else if (MAPS.has(name) && isRecord(value)) kept[name] = this.mendedMap(value);
      else kept[name] = HELD.has(name) ? this.mended(value) : value;
    }
    if (schema.type === 'object' || isRecord(schema.properties)) kept.additionalProperties = false;
    if (told.length === 0) return kept;
    this.moved = true;
    const rules = `Must keep to ${told.join(', ')}.`;
    const { description } = schema;
    return { ...kept, description: typeof description === 'string' ? `${description}\n\n${rules}` : rules };
  }

  private mendedMap(map: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(map).map(([name, schema]) => [name, this.mended(schema)]));
  }
}

/** Schemas by name, and schemas within; everything else is a plain value. */
const MAPS: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const HELD: ReadonlySet<string> = new Set(['items', 'anyOf', 'allOf']);

const isRefused = (name: string, value: unknown): boolean =>
  (name === 'minItems' && !/^[01]$/.test(printJson(value))) ||
  // Look-around, back-references and word boundaries are no part of the regular expressions it knows.
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

/** No schema within refers to itself or to another document. */
function isBounded(root: JsonObject): boolean {
  const named = new Map<string, JsonObject>();
  for (const map of MAPS)
    for (const [name, schema] of Object.entries(isRecord(root[map]) ? root[map] : {}))
      if (isRecord(schema)) named.set(`#/${map}/${name}`, schema);
  const known = new Map<string, 'open' | 'closed'>();
  const isClosed = (target: string): boolean => {
    const state = known.get(target);
    if (state !== undefined) return state === 'closed';
    const schema = named.get(target);
    if (schema === undefined) return false;
    // A target that is met again before it is closed refers to itself.
    known.set(target, 'open');
    const closes = referencesIn(schema)?.every(isClosed) === true;
    if (closes) known.set(target, 'closed');
    return closes;
  };
  return referencesIn(root)?.every(isClosed) === true;
}

/** It is undefined where a reference stands in a place that is refused. */
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
    if (MAPS.has(name) && isRecord(value)) for (const one of Object.values(value)) walk(one, visit);
    else if (HELD.has(name) || name === 'oneOf') walk(value, visit);
  }
}
