import { Organisation, UserAccount } from '#product/identity';
import type { OpenApiDocument } from '../../src/web';
import { startTestApp, type TestApp } from '../support/app';
import { addKey, addUser, signIn } from '../support/users';
import { type Simulator, startSimulator } from '../support/simulator';
import { ProcessorSimulator } from '../../simulator/processor/processor-simulator';
import { type DescribedCall, RecordedCalls } from './recorded-calls';

let app: TestApp;
let supplier: Simulator;
let processor: ProcessorSimulator;
let portal: OpenApiDocument;
let gateway: OpenApiDocument;
let calls: RecordedCalls;

const documentAt = async (path: string): Promise<OpenApiDocument> =>
  (await (await fetch(app.url + path)).json()) as OpenApiDocument;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

beforeAll(async () => {
  [supplier, processor] = await Promise.all([startSimulator(), ProcessorSimulator.start()]);
  app = await startTestApp({ sandboxUrl: supplier.url, environment: processor.environment });
  [portal, gateway] = await Promise.all([documentAt('/openapi.json'), documentAt('/v1/openapi.json')]);
});
afterAll(async () => {
  await app.close();
  await Promise.all([supplier.stop(), processor.stop()]);
});
beforeEach(() => {
  calls = new RecordedCalls(app.url);
});

const operationsOf = ({ paths }: OpenApiDocument, ...includedMethods: readonly string[]) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .map((method) => method.toUpperCase())
      .filter((method) => includedMethods.includes(method))
      .map((method) => ({ method, path })),
  );

/** Ids that do not exist. */
const absentIds = {
  request_id: '00000000-0000-7000-8000-000000000000',
  token: 'A'.repeat(43),
  model: 'absent',
  code: 'absent',
};
const session = async (role: 'user' | 'platform_owner' = 'user') => ({
  cookie: await signIn(app, await addUser(app, role)),
});

test('responds to 200 portal reads as described, signed in or not, valid or not', async () => {
  const owner = await session('platform_owner');
  // Sign-out is excluded because it ends the session that the other calls need.
  const reads = operationsOf(portal, 'GET').filter(({ path }) => path !== '/logout');
  for (const read of reads) {
    const call = { ...read, parameters: absentIds };
    await calls.send(portal, { ...call, headers: owner });
    await calls.send(portal, { ...call, query: '?format=json&undescribed=1', headers: owner });
    await calls.send(portal, call);
    await calls.send(portal, { ...call, headers: { accept: 'text/html' } });
  }
  await calls.send(portal, { method: 'GET', path: '/logout', headers: owner });
  expect(calls.differences).toEqual([]);
  expect(calls.statuses.length).toBeGreaterThan(200);
});

test('rejects invalid portal changes as described', async () => {
  for (const change of operationsOf(portal, 'POST', 'DELETE', 'PUT', 'PATCH')) {
    const call = { ...change, parameters: absentIds };
    await calls.send(portal, { ...call, json: { undescribed: 1 } });
    await calls.send(portal, { ...call, json: { undescribed: 1 }, headers: await session() });
  }
  expect(calls.differences).toEqual([]);
  expect(calls.statuses.length).toBeGreaterThan(100);
});

test('performs portal changes as described', async () => {
  const headers = await session('platform_owner');
  const post = (path: string, json: object, parameters = {}) =>
    calls.send(portal, { method: 'POST', path, parameters, json, headers });
  await post('/dashboard/settings/display-name', { display_name: 'A name', other: { free: true } });
  const [target, source] = await Promise.all(['target', 'source'].map(addOrganisation));
  await post('/dashboard/admin/organisations/merge', {
    target_org_id: target?.id,
    source_org_ids: String(source?.id),
    billing_user_id: target?.ownerId,
    [`role_${source?.ownerId}`]: 'user',
    confirmation: 'target',
  });
  await post('/set-language', { language: 'en' });
  const createResponse = await post('/api/conversations', { model: 'sim-small' });
  const { id, conversation_id } = createResponse.body as { id?: number; conversation_id?: number };
  const conversation = { conv_id: String(id ?? conversation_id) };
  await post('/api/chat/{conv_id}', { content: 'Hello' }, conversation);
  await post('/api/chat/{conv_id}', { content: 'Hello', stream: true }, conversation);
  const payerId = await addUser(app);
  await app.database.source.getRepository(UserAccount).update(payerId, { billingExempt: false });
  const payer = { cookie: await signIn(app, payerId) };
  for (const path of ['/api/billing/checkout', '/api/billing/add-funds'])
    await calls.send(portal, { method: 'POST', path, json: { amount: 50 }, headers: payer });
  expect(calls.differences).toEqual([]);
  expect(calls.statuses).toEqual(calls.statuses.map(() => 200));
  // The document describes the amount as a number.
  expect((await post('/api/billing/checkout', { amount: '50' })).status).toBe(422);
});

async function addOrganisation(name: string): Promise<{ id: number; ownerId: number }> {
  const organisations = app.database.source.getRepository(Organisation);
  const { id } = await organisations.save(organisations.create({ name, slug: name }));
  const ownerId = await addUser(app, 'org_owner');
  await app.database.source.getRepository(UserAccount).update(ownerId, { organisationId: id });
  return { id, ownerId };
}

const models: Readonly<Record<string, string>> = {
  createEmbeddings: 'sim-embed',
  rerank: 'sim-rerank',
  rerankV2: 'sim-rerank',
  speak: 'sim-speech',
  createImage: 'sim-image',
  moderate: 'sim-moderation',
};

test('responds to gateway calls as described, with and without a key, valid or not', async () => {
  const { text: key } = await addKey(app, await addUser(app));
  const { text: root } = await addKey(app, null, { kind: 'root' });
  for (const route of operationsOf(gateway, 'GET', 'POST', 'PATCH', 'DELETE')) {
    const call: DescribedCall = {
      ...route,
      parameters: { ...absentIds, response_id: 'resp_absent', key_id: absentIds.request_id },
    };
    const operation = gateway.paths[route.path]?.[route.method.toLowerCase()];
    const example = Object.values(operation?.requestBody?.content ?? {})[0]?.example as object | undefined;
    const invalidBody = route.method === 'GET' ? {} : { json: { undescribed: 1 } };
    await calls.send(gateway, { ...call, ...invalidBody });
    await calls.send(gateway, { ...call, ...invalidBody, headers: bearer('unknown') });
    await calls.send(gateway, { ...call, ...invalidBody, headers: bearer(key) });
    await calls.send(gateway, { ...call, ...invalidBody, headers: bearer(root) });
    if (example === undefined || !('model' in example)) continue;
    const json = { ...example, model: models[operation?.operationId ?? ''] ?? 'sim-small' };
    await calls.send(gateway, { ...call, json, headers: bearer(key) });
    const media = operation?.responses['200']?.content ?? {};
    if ('text/event-stream' in media)
      await calls.send(gateway, { ...call, json: { ...json, stream: true }, headers: bearer(key) });
  }
  expect(calls.differences).toEqual([]);
  expect(calls.statuses.filter((status) => status === 200).length).toBeGreaterThan(15);
});

test('manages keys as described', async () => {
  const headers = bearer((await addKey(app, null, { kind: 'root' })).text);
  const path = '/v1/manage/keys';
  const createResponse = await calls.send(gateway, {
    method: 'POST',
    path,
    json: { name: 'described' },
    headers,
  });
  const { id } = createResponse.body as { id: string };
  const keyCall = { path: `${path}/{key_id}`, parameters: { key_id: id }, headers };
  await calls.send(gateway, { method: 'GET', path, headers });
  await calls.send(gateway, { ...keyCall, method: 'GET' });
  await calls.send(gateway, { ...keyCall, method: 'PATCH', json: { budget_limit: 10 } });
  await calls.send(gateway, { ...keyCall, path: `${keyCall.path}/audit`, method: 'GET' });
  await calls.send(gateway, {
    ...keyCall,
    path: `${keyCall.path}/audit`,
    method: 'GET',
    query: '?format=csv',
  });
  await calls.send(gateway, {
    ...keyCall,
    path: `${keyCall.path}/rotate`,
    method: 'POST',
    json: { grace_seconds: 60 },
  });
  await calls.send(gateway, { ...keyCall, method: 'DELETE' });
  expect(calls.differences).toEqual([]);
  expect(calls.statuses).toEqual(calls.statuses.map(() => 200));
});
