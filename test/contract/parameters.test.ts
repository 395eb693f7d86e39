import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenApiDocument } from '../../src/web';
import { startTestApp, type TestApp } from '../support/app';

interface Expected {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: string;
  readonly required: boolean;
  readonly default?: unknown;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly area: string;
  readonly parameters?: readonly Expected[];
  readonly body?: readonly string[];
}

const { operations } = JSON.parse(readFileSync(join(__dirname, 'operations.json'), 'utf8')) as {
  readonly operations: readonly Operation[];
};
const ofPortal = operations.filter(({ area }) => area !== 'gateway');

/** Former links name a key by its text id, and lead to its page. */
const takesFormerIds = '/dashboard/keys/{key_id}';

let app: TestApp;
let paths: OpenApiDocument['paths'];

const described = ({ method, path }: Operation) =>
  (paths[path] ?? paths[path.replace(/\/$/, '{/}')])?.[method.toLowerCase()];

beforeAll(async () => {
  app = await startTestApp();
  const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as OpenApiDocument;
  expect(document.info.version).toBe('0.1.0');
  ({ paths } = document);
});
afterAll(() => app.close());

test('every parameter of the contract is described as the contract has it', () => {
  const faults = ofPortal.flatMap((operation) => {
    const found = described(operation)?.parameters ?? [];
    return (operation.parameters ?? []).flatMap((expected) => {
      const name = `${operation.method} ${operation.path} ${expected.name}`;
      const parameter = found.find((one) => one.name === expected.name && one.in === expected.in);
      if (parameter === undefined) return [`${name}: not described`];
      const { schema, required = false } = parameter;
      const isOpen = !['integer', 'string'].includes(expected.type) || operation.path === takesFormerIds;
      return [
        ...(isOpen || schema.type === expected.type ? [] : [`${name}: ${JSON.stringify(schema)}`]),
        ...(required === expected.required ? [] : [`${name}: required is ${String(required)}`]),
        ...(schema.default === expected.default ? [] : [`${name}: default is ${String(schema.default)}`]),
        ...(schema.type !== 'integer' || (schema.minimum !== undefined && schema.maximum !== undefined)
          ? []
          : [`${name}: no bounds`]),
      ];
    });
  });
  expect(faults).toEqual([]);
  expect(ofPortal.flatMap(({ parameters = [] }) => parameters)).toHaveLength(69);
});

test('every body that the contract lists has its fields', () => {
  const faults = ofPortal.flatMap((operation) => {
    const schema = Object.values(described(operation)?.requestBody?.content ?? {})[0]?.schema;
    return (operation.body ?? []).flatMap((field) =>
      schema?.properties?.[field] === undefined ? [`${operation.method} ${operation.path} ${field}`] : [],
    );
  });
  expect(faults).toEqual([]);
});

test('every query that is described has a type, and integers are never described as texts', () => {
  const vague = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
      parameters.flatMap(({ name, schema }) => {
        const hasType = schema.type ?? schema.enum ?? schema.anyOf ?? schema.const;
        const isDigits = /\\d\{/.test(schema.pattern ?? '') && /_id$/.test(name);
        return hasType === undefined || isDigits ? [`${method} ${path} ${name}`] : [];
      }),
    ),
  );
  expect(vague).toEqual([]);
});
