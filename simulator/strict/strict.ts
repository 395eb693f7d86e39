import type { Complaint } from '../complaint';
import { isObject, listOf, type JsonObject } from '../json';

export type Check = Complaint | undefined;

/** Returns the first complaint about an item of the list. */
export function firstOf<T>(items: readonly T[], check: (item: T, index: number) => Check): Check {
  for (const [index, item] of items.entries()) {
    const complaint = check(item, index);
    if (complaint) return complaint;
  }
  return undefined;
}

export function fieldSet(names: string): ReadonlySet<string> {
  return new Set(names.split(' '));
}

export function unknownField(value: JsonObject, allowed: ReadonlySet<string>): string | undefined {
  for (const name in value) if (!allowed.has(name)) return name;
  return undefined;
}

/** Unknown-parameter error in OpenAI's wording, at any depth. */
export function unknownParameter(value: JsonObject, allowed: ReadonlySet<string>, path = ''): Check {
  const name = unknownField(value, allowed);
  if (name === undefined) return undefined;
  const param = path === '' ? name : `${path}.${name}`;
  return { message: `Unknown parameter: '${param}'.`, code: 'unknown_parameter', param };
}

export function missingParameter(param: string): Complaint {
  return { message: `Missing required parameter: '${param}'.`, code: 'missing_required_parameter', param };
}

export function invalidType(param: string, expected: string): Complaint {
  return {
    message: `Invalid type for '${param}': expected ${expected}.`,
    code: 'invalid_type',
    param,
  };
}

export function invalidValue(param: string, message: string): Complaint {
  return { message, code: 'invalid_value', param };
}

/** Checks that a number, if present, is within a range. */
export function numberWithin(
  body: JsonObject,
  param: string,
  min: number,
  max: number,
  whole = false,
): Check {
  const value = body[param];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || (whole && !Number.isInteger(value))) {
    return invalidType(param, whole ? 'an integer' : 'a number');
  }
  if (value >= min && value <= max) return undefined;
  return invalidValue(param, `Invalid '${param}': expected a value between ${min} and ${max}, got ${value}.`);
}

export function optional(
  body: JsonObject,
  param: string,
  type: 'string' | 'boolean' | 'object' | 'list',
): Check {
  const value = body[param];
  if (value === undefined || value === null) return undefined;
  const isValid =
    type === 'list' ? Array.isArray(value) : type === 'object' ? isObject(value) : typeof value === type;
  return isValid ? undefined : invalidType(param, `a ${type}`);
}

/** Requires an object schema for a function's parameters. */
export function objectSchema(schema: unknown, name: string, param: string): Check {
  if (schema === undefined || schema === null) return undefined;
  if (isObject(schema) && schema['type'] === 'object') return undefined;
  return {
    message: `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"'.`,
    code: 'invalid_function_parameters',
    param,
  };
}

/** Strict structured output requires closed objects with every property required. */
export function strictSchema(schema: unknown, name: string, param: string): Check {
  if (!isObject(schema)) return invalidType(param, 'an object');
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = new Set(listOf(schema['required']));
  const invalid = (reason: string): Complaint => ({
    message: `Invalid schema for response_format '${name}': ${reason}`,
    code: 'invalid_json_schema',
    param,
  });
  if (schema['type'] === 'object' && schema['additionalProperties'] !== false) {
    return invalid("'additionalProperties' is required to be supplied and to be false.");
  }
  const optionalProperty = Object.keys(properties).find((property) => !required.has(property));
  if (optionalProperty !== undefined)
    return invalid(`'required' must include every key in properties. Missing '${optionalProperty}'.`);
  return firstOf(Object.values(properties).filter(isObject), (property) => {
    const nested = property['type'] === 'object' ? property : property['items'];
    return isObject(nested) && nested['type'] === 'object' ? strictSchema(nested, name, param) : undefined;
  });
}
