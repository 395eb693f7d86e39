import type { OpenApiDocument } from '../../src/web';
import { startTestApp, type TestApp } from '../support/app';
import { type Described, differences, type Expected, ofPortal, type Operation } from './expected';

/** Former links name a key by its text id, and lead to its page. */
const takesFormerIds = '/dashboard/keys/{key_id}';

let app: TestApp;
let paths: OpenApiDocument['paths'];

const described = ({ method, path }: Operation) => paths[path]?.[method.toLowerCase()];

beforeAll(async () => {
  app = await startTestApp();
  const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as OpenApiDocument;
  expect(document.info.version).toBe('0.1.0');
  ({ paths } = document);
});
afterAll(() => app.close());

const hasBounds = ({ type, minimum, maximum }: Described): boolean =>
  ![type].flat().includes('integer') || (minimum !== undefined && maximum !== undefined);

test('every parameter of the contract is described as the contract has it', () => {
  const faults = ofPortal.flatMap((operation) => {
    const found = described(operation)?.parameters ?? [];
    return (operation.parameters ?? []).flatMap((expected) => {
      const name = `${operation.method} ${operation.path} ${expected.name}`;
      const parameter = found.find((one) => one.name === expected.name && one.in === expected.in);
      if (parameter === undefined) return [`${name}: not described`];
      const { schema, required = false } = parameter;
      const isLink = operation.path === takesFormerIds && operation.method === 'GET';
      return [
        ...(isLink ? [] : differences(expected, schema, required)),
        ...(hasBounds(schema) ? [] : ['no bounds']),
      ].map((fault) => `${name}: ${fault}`);
    });
  });
  expect(faults).toEqual([]);
  expect(ofPortal.flatMap(({ parameters = [] }) => parameters)).toHaveLength(69);
});

const differencesOf = (expected: readonly Expected[], schema: Described | undefined): string[] => {
  const { properties = {}, required = [] } = schema ?? {};
  const unknown = Object.keys(properties).filter((name) => expected.every((field) => field.name !== name));
  return [
    ...unknown.map((name) => `${name}: not in the contract`),
    ...expected.flatMap((field) => {
      const found = properties[field.name];
      if (found === undefined) return [`${field.name}: not described`];
      return differences(field, found, required.includes(field.name)).map(
        (fault) => `${field.name}: ${fault}`,
      );
    }),
  ];
};

test('every body of the contract has its fields, as programs and as pages send them, and no others', () => {
  const faults = ofPortal.flatMap((operation) => {
    const content = described(operation)?.requestBody?.content ?? {};
    const { body = [], form = body } = operation;
    if (body.length === 0) return [];
    return [
      ...differencesOf(body, content['application/json']?.schema),
      ...differencesOf(form, content['application/x-www-form-urlencoded']?.schema).map(
        (fault) => `as a form, ${fault}`,
      ),
    ].map((fault) => `${operation.method} ${operation.path} ${fault}`);
  });
  expect(faults).toEqual([]);
  expect(ofPortal.flatMap(({ body = [], form = [] }) => [...body, ...form]).length).toBeGreaterThan(200);
});

test('every field that is described has a type, and integers are never described as texts', () => {
  const isVague = (name: string, schema: Described): boolean =>
    (schema.type ?? schema.enum ?? schema.anyOf ?? schema.const) === undefined ||
    (/\\d\{/.test(schema.pattern ?? '') && /_id$/.test(name));
  const vague = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]) => {
      const bodies = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) =>
        Object.entries(schema?.properties ?? {}),
      );
      return [
        ...parameters.map(({ name, schema }): [string, Described] => [name, schema]),
        ...bodies,
      ].flatMap(([name, schema]) => (isVague(name, schema) ? [`${method} ${path} ${name}`] : []));
    }),
  );
  expect([...new Set(vague)]).toEqual([]);
});
