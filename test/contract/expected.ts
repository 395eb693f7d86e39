import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenApiDocument } from '../../src/web';

/** A field as the contract states it. */
export interface ExpectedField {
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

interface ExpectedParameter extends ExpectedField {
  readonly in: 'path' | 'query';
}

export interface ContractRoute {
  readonly method: string;
  readonly path: string;
  readonly area: string;
  readonly parameters?: readonly ExpectedParameter[];
  readonly body?: readonly ExpectedField[];
  readonly form?: readonly ExpectedField[];
}

export type DescribedSchema = NonNullable<
  NonNullable<OpenApiDocument['paths'][string][string]['parameters']>[number]['schema']
>;

const { operations } = JSON.parse(readFileSync(join(__dirname, 'operations.json'), 'utf8')) as {
  readonly operations: readonly ContractRoute[];
};
export const portalOperations = operations.filter(({ area }) => area !== 'gateway');

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

const kindsOf = (schema: DescribedSchema): readonly DescribedSchema[] => [schema, ...(schema.anyOf ?? [])];
const typesOf = (schema: DescribedSchema): string[] =>
  [...new Set(kindsOf(schema).flatMap(({ type = [] }) => type))].sort();

function expectedTypes({ type, nullable = false }: ExpectedField): string[] {
  const namedTypes = types[type] ??
    {
      day: ['string'],
      instant: ['string'],
      person: ['integer', 'string'],
      'line or list': ['array', 'string'],
    }[type] ?? [type];
  return [...namedTypes, ...(nullable ? ['null'] : [])].sort();
}

/** A date can also be described as an instant in a query that accepts both. */
function expectedFormats({ type }: ExpectedField, describedFormats: readonly string[]): readonly string[] {
  if (type === 'day') return describedFormats.includes('date-time') ? ['date', 'date-time'] : ['date'];
  return formats[type] ?? [];
}

/** Lists the differences of a field between the description and the contract. */
export function differences(expected: ExpectedField, schema: DescribedSchema, isRequired: boolean): string[] {
  const describedFormats = kindsOf(schema).flatMap(({ format = [] }) => format);
  const pairs: [string, unknown, unknown][] = [
    ['type', typesOf(schema), expectedTypes(expected)],
    ['required', isRequired, expected.required],
    ['default', schema.default, expected.default],
    ['choices', schema.enum?.filter((choice) => choice !== null), expected.enum],
    ['format', describedFormats, expectedFormats(expected, describedFormats)],
    ...bounds
      .filter((name) => expected[name] !== undefined)
      .map((name): [string, unknown, unknown] => [name, schema[name], expected[name]]),
  ];
  return pairs.flatMap(([name, actualValue, expectedValue]) => {
    const [is, shall] = [JSON.stringify(actualValue), JSON.stringify(expectedValue)];
    return is === shall ? [] : [`${name} is ${is}, not ${shall}`];
  });
}
