import type { OpenApiDocument } from '../../src/web';
import { startTestApp, type TestApp } from '../support/app';
import {
  type DescribedSchema,
  differences,
  type ExpectedField,
  portalOperations,
  type ContractRoute,
} from './expected';

/** Legacy links name a key by its text id and redirect to its page. */
const legacyIdPath = '/dashboard/keys/{key_id}';

let app: TestApp;
let paths: OpenApiDocument['paths'];

const describedOperation = ({ method, path }: ContractRoute) => paths[path]?.[method.toLowerCase()];

beforeAll(async () => {
  app = await startTestApp();
  const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as OpenApiDocument;
  expect(document.info.version).toBe('0.1.0');
  ({ paths } = document);
});
afterAll(() => app.close());

const hasOwnBounds = ({ type, minimum, maximum }: DescribedSchema): boolean =>
  ![type].flat().includes('integer') || (minimum !== undefined && maximum !== undefined);

test('every parameter of the contract is described as in the contract', () => {
  const problems = portalOperations.flatMap((operation) => {
    const describedParameters = describedOperation(operation)?.parameters ?? [];
    return (operation.parameters ?? []).flatMap((expected) => {
      const name = `${operation.method} ${operation.path} ${expected.name}`;
      const parameter = describedParameters.find(
        (one) => one.name === expected.name && one.in === expected.in,
      );
      if (parameter === undefined) return [`${name}: not described`];
      const { schema, required = false } = parameter;
      const isLink = operation.path === legacyIdPath && operation.method === 'GET';
      return [
        ...(isLink ? [] : differences(expected, schema, required)),
        ...(hasOwnBounds(schema) ? [] : ['no bounds']),
      ].map((fault) => `${name}: ${fault}`);
    });
  });
  expect(problems).toEqual([]);
  expect(portalOperations.flatMap(({ parameters = [] }) => parameters)).toHaveLength(69);
});

const differencesOf = (expected: readonly ExpectedField[], schema: DescribedSchema | undefined): string[] => {
  const { properties = {}, required = [] } = schema ?? {};
  const unknownFields = Object.keys(properties).filter((name) =>
    expected.every((field) => field.name !== name),
  );
  return [
    ...unknownFields.map((name) => `${name}: not in the contract`),
    ...expected.flatMap((field) => {
      const describedField = properties[field.name];
      if (describedField === undefined) return [`${field.name}: not described`];
      return differences(field, describedField, required.includes(field.name)).map(
        (fault) => `${field.name}: ${fault}`,
      );
    }),
  ];
};

test('every body of the contract is described with exactly its fields, as JSON and as a form', () => {
  const problems = portalOperations.flatMap((operation) => {
    const content = describedOperation(operation)?.requestBody?.content ?? {};
    const { body = [], form = body } = operation;
    if (body.length === 0) return [];
    return [
      ...differencesOf(body, content['application/json']?.schema),
      ...differencesOf(form, content['application/x-www-form-urlencoded']?.schema).map(
        (fault) => `as a form, ${fault}`,
      ),
    ].map((fault) => `${operation.method} ${operation.path} ${fault}`);
  });
  expect(problems).toEqual([]);
  expect(portalOperations.flatMap(({ body = [], form = [] }) => [...body, ...form]).length).toBeGreaterThan(
    200,
  );
});

test('every described field has a type, and integers are never described as strings', () => {
  const isVague = (name: string, schema: DescribedSchema): boolean =>
    (schema.type ?? schema.enum ?? schema.anyOf ?? schema.const) === undefined ||
    (/\\d\{/.test(schema.pattern ?? '') && /_id$/.test(name));
  const vagueFields = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]) => {
      const bodies = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) =>
        Object.entries(schema?.properties ?? {}),
      );
      return [
        ...parameters.map(({ name, schema }): [string, DescribedSchema] => [name, schema]),
        ...bodies,
      ].flatMap(([name, schema]) => (isVague(name, schema) ? [`${method} ${path} ${name}`] : []));
    }),
  );
  expect([...new Set(vagueFields)]).toEqual([]);
});
