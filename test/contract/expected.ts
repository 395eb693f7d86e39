import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenApiDocument } from '../../src/web';

/** A field as the contract tells of it. */
export interface Expected {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

interface ExpectedParameter extends Expected {
  readonly in: 'path' | 'query';
}

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly area: string;
  readonly parameters?: readonly ExpectedParameter[];
  readonly body?: readonly Expected[];
  readonly form?: readonly Expected[];
}

export type Described = NonNullable<
  NonNullable<OpenApiDocument['paths'][string][string]['parameters']>[number]['schema']
>;

const { operations } = JSON.parse(readFileSync(join(__dirname, 'operations.json'), 'utf8')) as {
  readonly operations: readonly Operation[];
};
export const ofPortal = operations.filter(({ area }) => area !== 'gateway');

const types: Readonly<Record<string, readonly string[]>> = {
  usd: ['number', 'string'],
  choice: ['string'],
  list: ['array'],
  uuid: ['string'],
  zone: ['string'],
};
const formats: Readonly<Record<string, readonly string[]>> = {
  instant: ['date', 'date-time'],
  uuid: ['uuid'],
  zone: ['time-zone'],
  person: ['email'],
};
const bounds = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const;

const kindsOf = (schema: Described): readonly Described[] => [schema, ...(schema.anyOf ?? [])];
const typesOf = (schema: Described): string[] =>
  [...new Set(kindsOf(schema).flatMap(({ type = [] }) => type))].sort();

function typesWanted({ type, nullable = false }: Expected): string[] {
  const named = types[type] ??
    {
      day: ['string'],
      instant: ['string'],
      person: ['integer', 'string'],
      'line or list': ['array', 'string'],
    }[type] ?? [type];
  return [...named, ...(nullable ? ['null'] : [])].sort();
}

/** A day alone may be told as an instant, too, in a query that takes both. */
function formatsWanted({ type }: Expected, found: readonly string[]): readonly string[] {
  if (type === 'day') return found.includes('date-time') ? ['date', 'date-time'] : ['date'];
  return formats[type] ?? [];
}

/** The description says these otherwise of a field than the contract. */
export function differences(expected: Expected, schema: Described, isRequired: boolean): string[] {
  const found = kindsOf(schema).flatMap(({ format = [] }) => format);
  const pairs: [string, unknown, unknown][] = [
    ['type', typesOf(schema), typesWanted(expected)],
    ['required', isRequired, expected.required],
    ['default', schema.default, expected.default],
    ['choices', schema.enum?.filter((choice) => choice !== null), expected.enum],
    ['format', found, formatsWanted(expected, found)],
    ...bounds
      .filter((name) => expected[name] !== undefined)
      .map((name): [string, unknown, unknown] => [name, schema[name], expected[name]]),
  ];
  return pairs.flatMap(([name, given, wanted]) => {
    const [is, shall] = [JSON.stringify(given), JSON.stringify(wanted)];
    return is === shall ? [] : [`${name} is ${is}, not ${shall}`];
  });
}
