import { describedGatewayRoutes } from '#product/gateway';
import { LeanAdapter } from '#product/platform';
import { knownFields } from '#product/routing';
import type { OpenApiDocument } from '../../../src/web';
import type { TestApp } from '../../support/app';
import { declareRegions } from '../../support/regions';
import { fetchPage, startPublicSite } from '../../support/public-site';
import { addKey, addUser } from '../../support/users';

let app: TestApp;
let gateway: OpenApiDocument;
let portal: OpenApiDocument;

const documentAt = async (path: string): Promise<OpenApiDocument> => {
  const { status, headers, text } = await fetchPage(app, path, {});
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  return JSON.parse(text) as OpenApiDocument;
};

beforeAll(async () => {
  app = await startPublicSite({ BRAND_NAME: 'Ring', BASE_URL: 'http://127.0.0.1:3999' });
  await declareRegions(app.database, 'eu');
  [gateway, portal] = [await documentAt('/v1/openapi.json'), await documentAt('/openapi.json')];
});
afterAll(() => app.close());

const routesOf = ({ paths }: OpenApiDocument): string[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
const operationsOf = (document: OpenApiDocument) =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );

test('every served route is described in exactly one document, and no other route is', () => {
  const servedRoutes = app.application
    .get(LeanAdapter)
    .routes.added.map(([method, path]) => `${method} ${path.replace(/:(\w+)/g, '{$1}').replace('{/}', '/')}`);
  expect([...routesOf(gateway), ...routesOf(portal)].sort()).toEqual([...new Set(servedRoutes)].sort());
  expect(routesOf(gateway).sort()).toEqual([...describedGatewayRoutes].sort());
});

test('the portal document has the title of the portal and version 0.1.0', () => {
  expect([portal.openapi, portal.info.title, portal.info.version]).toEqual(['3.1.0', 'Ring Portal', '0.1.0']);
  expect(portal.servers).toEqual([{ url: 'http://127.0.0.1:3999' }]);
  expect(gateway.info.title).toBe('Ring Gateway');
});

describe.each(['gateway', 'portal'] as const)('The OpenAPI document of the %s', (which) => {
  const document = (): OpenApiDocument => (which === 'gateway' ? gateway : portal);

  test('has unique camel-case operation ids', () => {
    const ids = operationsOf(document()).map(({ operationId }) => operationId);
    expect(ids.filter((id) => !/^[a-z][a-zA-Z0-9]+$/.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('resolves every reference', () => {
    const references = JSON.stringify(document()).match(/"\$ref":"[^"]+"/g) ?? [];
    const unresolved = [...new Set(references)].filter((reference) => {
      const [, path = ''] = /"#\/(.+)"$/.exec(reference) ?? [];
      const target = path
        .split('/')
        .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], document());
      return target === undefined;
    });
    expect(unresolved).toEqual([]);
  });

  test('declares every path parameter once and has tags, credentials, responses and errors', () => {
    const schemes = Object.keys(document().components.securitySchemes ?? {});
    const tags = document().tags.map(({ name }) => name);
    for (const operation of operationsOf(document())) {
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      const pathNames = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect([operation.path, inPath.map(({ name }) => name)]).toEqual([operation.path, pathNames]);
      expect(inPath.every(({ required }) => required === true)).toBe(true);
      expect(operation.tags.every((tag) => tags.includes(tag))).toBe(true);
      expect(operation.security.flatMap(Object.keys).filter((name) => !schemes.includes(name))).toEqual([]);
      expect(operation.summary).not.toBe('');
      expect(operation.responses.default?.$ref).toMatch(/^#\/components\/responses\//);
      expect(Object.keys(operation.responses)[0]).toMatch(/^(200|302|303)$/);
      expect(operation.method === 'get' && operation.requestBody !== undefined).toBe(false);
    }
  });
});

describe('The gateway document', () => {
  const operation = (id: string) => {
    const match = operationsOf(gateway).find(({ operationId }) => operationId === id);
    if (match === undefined) throw new Error(`there is no operation ${id}`);
    return match;
  };
  const bodyOf = (id: string) => Object.values(operation(id).requestBody?.content ?? {})[0]?.schema;

  test('has exactly the body fields that the gateway accepts', () => {
    for (const [id, known] of [
      ['createChatCompletion', 'chat'],
      ['createMessage', 'messages'],
      ['createEmbeddings', 'embeddings'],
      ['transcribe', 'transcription'],
      ['createImage', 'image'],
    ] as const)
      expect(Object.keys(bodyOf(id)?.properties ?? {}).sort()).toEqual(
        [...knownFields(known).names, 'region'].sort(),
      );
    expect(bodyOf('createChatCompletion')?.required).toEqual(['model', 'messages']);
  });

  test('states the credentials that routes require', () => {
    expect(operation('createChatCompletion').security).toEqual([{ bearer: [] }]);
    expect(operation('createMessage').security).toEqual([{ bearer: [] }, { apiKey: [] }]);
    expect(operation('createKey').security).toEqual([{ rootKey: [] }]);
    expect(operation('health').security).toEqual([]);
    expect(operation('createMessage').responses.default?.$ref).toBe('#/components/responses/MessagesError');
  });

  test('states limits that the gateway enforces', async () => {
    const { text: key } = await addKey(app, await addUser(app));
    const send = async (path: string, body: object) => {
      const answer = await fetch(app.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: answer.status, error: ((await answer.json()) as { error: { param: string } }).error };
    };
    const validBody = { model: 'sim-small', messages: [{ role: 'user', content: 'x' }] };
    for (const [id, path] of [
      ['createChatCompletion', '/v1/chat/completions'],
      ['createMessage', '/v1/messages'],
    ] as const) {
      for (const [name, schema] of Object.entries(bodyOf(id)?.properties ?? {})) {
        if (schema.type !== 'number' || schema.maximum === undefined || schema.minimum === undefined)
          continue;
        for (const value of [schema.maximum + 1, schema.minimum - 1]) {
          const { status, error } = await send(path, { ...validBody, max_tokens: 5, [name]: value });
          expect([id, name, value, status, error.param]).toEqual([id, name, value, 400, name]);
        }
      }
    }
  });

  test('describes exactly the fields with which a key can be created', async () => {
    const { text: root } = await addKey(app, null, { kind: 'root' });
    const createKey = (body: object) =>
      fetch(`${app.url}/v1/manage/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${root}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const values: Record<string, unknown> = {
      name: 'described',
      allowed_models: ['sim-small'],
      allowed_regions: 'eu',
      budget_limit: 5,
      budget_period: 'daily',
      rate_limit_rpm: 10,
      rate_limit_tpm: 10_000,
      max_parallel: 4,
      answer_model: 'supplier',
      continue_streams: 'off',
      unknown_fields: 'drop',
      model_budgets: [{ model: 'sim-small', limit: 1 }],
      metadata: { team: 'a' },
      expires_at: '2199-01-01T00:00:00Z',
    };
    const describedFields = Object.keys(bodyOf('createKey')?.properties ?? {}).filter(
      (name) => !name.endsWith('_id'),
    );
    expect(describedFields.sort()).toEqual(Object.keys(values).sort());
    expect((await createKey(values)).status).toBe(200);
    expect((await createKey({ ...values, other: 1 })).status).toBe(400);
  });
});

describe('The portal document', () => {
  const parameters = (path: string) => portal.paths[path]?.get?.parameters ?? [];

  test('describes forms with their validation rules', () => {
    const schemas = Object.fromEntries(
      parameters('/models-public').map(({ name, schema }) => [name, schema]),
    );
    expect(schemas.format).toEqual({ enum: ['json', 'html'] });
    expect(schemas.page).toMatchObject({ type: 'string', pattern: '^[1-9]\\d{0,3}$' });
    expect(schemas.sort?.enum).toContain('-input');
    const language = portal.paths['/set-language']?.post?.requestBody?.content['application/json']?.schema;
    expect(language?.required).toEqual(['language']);
    expect(language?.properties?.language).toEqual({ enum: ['en', 'de', 'fr', 'it', 'es'] });
    expect(language?.properties?.next).toMatchObject({ type: 'string' });
  });

  test('declares HTML for pages, and also JSON for models', () => {
    expect(Object.keys(portal.paths['/pricing']?.get?.responses['200']?.content ?? {})).toEqual([
      'text/html',
    ]);
    expect(Object.keys(portal.paths['/models-public']?.get?.responses['200']?.content ?? {})).toEqual([
      'text/html',
      'application/json',
    ]);
  });
});

test('the API reference shows every gateway operation with copyable requests and every portal route', async () => {
  const { status, text } = await fetchPage(app, '/api-docs');
  expect(status).toBe(200);
  for (const { operationId, path } of operationsOf(gateway)) {
    const id = operationId.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    expect(text).toContain(`id="${id}"`);
    expect(text).toContain(`<code>${path}</code>`);
  }
  for (const route of routesOf(portal)) expect(text).toContain(`<code>${route.split(' ')[1]}</code>`);
  expect(text).toContain('http://127.0.0.1:3999/v1/embeddings');
  expect(text).toContain('&quot;model&quot;:&quot;sim-embed&quot;');
});

test('the interactive reference loads nothing from other hosts', async () => {
  const { status, text } = await fetchPage(app, '/api-docs/try');
  expect(status).toBe(200);
  const sources = [...text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, source = '']) => source);
  expect(sources.filter((source) => !source.startsWith('/'))).toEqual([]);
  for (const source of sources.filter((found) => found.includes('swagger-ui') || found.includes('try-it'))) {
    const { status: found } = await fetchPage(app, source.replaceAll('&#x3D;', '='), {});
    expect([source, found]).toEqual([source, 200]);
  }
});
