import { Validator } from '@seriousme/openapi-schema-validator';
import type { OpenApiDocument } from '../../src/web';
import { startTestApp, type TestApp } from '../support/app';
import { portalOperations } from './expected';

let app: TestApp;
let portal: OpenApiDocument;
let gateway: OpenApiDocument;

const documentAt = async (path: string): Promise<OpenApiDocument> =>
  (await (await fetch(app.url + path)).json()) as OpenApiDocument;

beforeAll(async () => {
  app = await startTestApp();
  [portal, gateway] = await Promise.all([documentAt('/openapi.json'), documentAt('/v1/openapi.json')]);
});
afterAll(() => app.close());

const responsesOf = (method: 'get' | 'post', path: string) => portal.paths[path]?.[method]?.responses ?? {};
const bodiesOf = (path: string) => portal.paths[path]?.post?.requestBody?.content ?? {};
const jsonSchemaOf = (path: string) =>
  responsesOf('post', path)['200']?.content?.['application/json']?.schema ?? {};

test.each(['portal', 'gateway'])('standard validator accepts the document %s', async (name) => {
  const { valid, errors } = await new Validator().validate({ ...(name === 'portal' ? portal : gateway) });
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
});

test('every path of the contract is described without escaped braces like `callback{/}`', () => {
  const missingPaths = portalOperations.filter(
    ({ method, path }) => portal.paths[path]?.[method.toLowerCase()] === undefined,
  );
  expect(missingPaths.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  expect(Object.keys(portal.paths).filter((path) => path.includes('{/}'))).toEqual([]);
});

test.each([
  ['/auth/idp1', '302'],
  ['/auth/idp2', '302'],
  ['/oauth/idp1/login/callback/', '303'],
  ['/oauth/idp2/login/callback/', '303'],
  ['/auth/sso/complete', '303'],
  ['/dashboard/admin/prices', '302', '303'],
  ['/dashboard/playground', '302', '303'],
  ['/dashboard/playground/{conv_id}', '302', '303'],
])('GET %s is described as a redirect with %s and Location, not as 200 JSON', (path, ...statuses) => {
  const redirectResponses = responsesOf('get', path);
  expect(Object.keys(redirectResponses).filter((name) => name !== 'default')).toEqual(statuses);
  for (const status of statuses) {
    expect(Object.keys(redirectResponses[status]?.headers ?? {})).toEqual(['Location']);
    expect(redirectResponses[status]?.content).toBeUndefined();
  }
});

test.each(['/dashboard/jump', '/dashboard/keys/{key_id}', '/account/suspended', '/logout'])(
  'GET %s is described with its redirect and its other response',
  (path) => {
    const statuses = Object.keys(responsesOf('get', path));
    expect(statuses).toContain('200');
    expect(statuses.some((status) => status === '302' || status === '303')).toBe(true);
  },
);

test('display-name accepts any properties and returns the name', () => {
  const path = '/dashboard/settings/display-name';
  expect(bodiesOf(path)['application/json']?.schema).toMatchObject({
    required: ['display_name'],
    additionalProperties: true,
  });
  expect(jsonSchemaOf(path)).toMatchObject({
    required: ['ok', 'display_name'],
    properties: { ok: { const: true }, display_name: { type: 'string' } },
  });
});

test.each(['/api/billing/checkout', '/api/billing/add-funds'])(
  '%s accepts the amount as a number and returns the checkout URL',
  (path) => {
    const [json, form] = Object.values(bodiesOf(path));
    expect(json?.schema).toMatchObject({ required: ['amount'], properties: { amount: { type: 'number' } } });
    expect(form?.schema?.properties?.amount?.type).toContain('string');
    expect(jsonSchemaOf(path)).toMatchObject({
      required: ['ok', 'url'],
      properties: { ok: { const: true }, url: { type: 'string', format: 'uri' } },
    });
  },
);

test('merge accepts comma-separated sources and one role per user', () => {
  const path = '/dashboard/admin/organisations/merge';
  for (const { schema } of Object.values(bodiesOf(path))) {
    expect(schema?.properties?.source_org_ids?.type).toEqual(['array', 'string']);
    expect(Object.keys(schema?.patternProperties ?? {})).toEqual([String.raw`^role_\d{1,10}$`]);
  }
  expect(jsonSchemaOf(path)).toMatchObject({
    required: ['ok', 'target_org_id'],
    properties: { ok: { const: true }, target_org_id: { type: 'integer' } },
  });
});

test('chat turn is described as JSON and as an event stream', () => {
  const content = responsesOf('post', '/api/chat/{conv_id}')['200']?.content ?? {};
  expect(Object.keys(content)).toEqual(expect.arrayContaining(['application/json', 'text/event-stream']));
});

test('files and texts are described with their media types', () => {
  const typesOf = (path: string) => Object.keys(responsesOf('get', path)['200']?.content ?? {});
  expect(typesOf('/robots.txt')).toEqual(['text/plain']);
  expect(typesOf('/sitemap.xml')).toEqual(['application/xml']);
});
