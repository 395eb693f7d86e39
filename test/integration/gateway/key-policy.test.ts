import fc from 'fast-check';
import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { platformScope, parseUsdPerMillion, priceRates } from '#product/kernel';
import { KeysService, type NewKey } from '#product/keys';
import { checksumOf, generateKey } from '#inside/keys/key-text';
import { startTestApp, type TestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';
import { addKey, addUser } from '../../support/users';
import { sendRaw as askRaw } from '../web/raw-exchange';
import { until } from '../../support/until';

interface PolicyResponse {
  readonly status: number;
  readonly code: string | undefined;
  readonly param: string | undefined;
}

const DEADLINE_MS = 35_000;
const message = [{ role: 'user', content: 'Hello [[tokens=5]]' }];
/** Every route that calls a model, with a valid body. */
const routes: readonly [path: string, body: object][] = [
  ['/v1/chat/completions', { model: 'sim-small', messages: message }],
  ['/v1/messages', { model: 'sim-small', max_tokens: 50, messages: message }],
  ['/v1/responses', { model: 'sim-small', input: message }],
  ['/v1/embeddings', { model: 'sim-embed', input: 'Hello' }],
  ['/v1/rerank', { model: 'sim-rerank', query: 'Hello', documents: ['Hello'] }],
  ['/v1/audio/speech', { model: 'sim-speech', input: 'Hello', voice: 'alloy' }],
  ['/v1/images/generations', { model: 'sim-image', prompt: 'Hello' }],
  ['/v1/moderations', { model: 'sim-moderation', input: 'Hello' }],
];
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const apiKey = (key: string): Record<string, string> => ({ 'x-api-key': key });

let app: TestApp;
let supplier: Simulator;
let owner: number;
let client: string;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
  await addModels();
  owner = await addUser(app);
  client = (await addKey(app, owner)).text;
});
beforeEach(() => supplier.clearRequests());
afterEach(() => supplier.clearFaults());
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

/** `backed` has two lanes; `friendly` is an alias of sim-large, and `moved` redirects to it. */
async function addModels(): Promise<void> {
  const editor = new CatalogueEditor();
  const credentials = app.application.get(CredentialEditor, { strict: false });
  await app.database.transaction(async (tx) => {
    const { id: providerId } = await editor.upsertProvider(tx, {
      name: 'second',
      style: 'openai-style',
      baseUrl: supplier.url,
    });
    await credentials.put(tx, { providerId, label: 'test', kind: 'bearer', secret: 'sim-test' });
    for (const name of ['backed', 'moved']) {
      await editor.upsertModel(tx, { name, kind: 'chat', ownedBy: 'test', maxOutputTokens: 1_000 });
      await editor.setLanes(tx, name, [
        { provider: 'sandbox', upstreamModel: `sim-${name}-first`, region: 'local' },
        { provider: 'second', upstreamModel: `sim-${name}-second`, region: 'local' },
      ]);
      const rates = priceRates({ input: parseUsdPerMillion('1'), output: parseUsdPerMillion('2') });
      await new PriceService().addPrice(tx, { model: name, source: 'test', rates });
    }
    await editor.addAlias(tx, 'friendly', 'sim-large');
    await editor.setRedirect(tx, 'moved', 'sim-large');
  });
  await app.application.get(CatalogueService).reload();
}

const createKey = async (rest: Partial<NewKey>): Promise<{ id: number; publicId: string; text: string }> =>
  app.database.transaction((tx) =>
    app.application.get(KeysService, { strict: false }).issue(platformScope, tx, {
      userId: owner,
      organisationId: null,
      departmentId: null,
      projectId: null,
      kind: 'client',
      name: 'test',
      createdBy: 'test',
      ...rest,
    }),
  );

/** Creates a key in a department of an organisation that pays. */
async function createDepartmentKey(): Promise<{
  text: string;
  organisationId: number;
  departmentId: number;
}> {
  const [organisation] = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug, billing_user_id) VALUES ('Kept', 'kept', $1) RETURNING id",
    [owner],
  );
  const [department] = await app.database.query<{ id: number }>(
    "INSERT INTO department (organisation_id, name) VALUES ($1, 'Sales') RETURNING id",
    [organisation!.id],
  );
  const departmentRef = { organisationId: organisation!.id, departmentId: department!.id };
  return { ...departmentRef, text: (await createKey({ userId: null, ...departmentRef })).text };
}

async function send(
  path: string,
  headers: Record<string, string>,
  body?: object,
  method = 'POST',
): Promise<PolicyResponse> {
  const answer = await fetch(app.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    signal: AbortSignal.timeout(DEADLINE_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const { error } =
    answer.status < 400
      ? { error: {} as Partial<PolicyResponse> }
      : (JSON.parse(text) as { error: PolicyResponse });
  return { status: answer.status, code: error.code, param: error.param };
}

const chat = (key: string, model: string, rest: object = {}): Promise<PolicyResponse> =>
  send('/v1/chat/completions', bearer(key), { model, messages: message, ...rest });
const upstreamModels = async (): Promise<string[]> => (await supplier.requests()).map(({ model }) => model);

describe('Key authentication', () => {
  test('garbage of any length in either header is rejected without an internal error', async () => {
    const garbage = fc.uint8Array({ minLength: 1, maxLength: 8_192, size: 'max' }).map((bytes) => {
      return Buffer.from(bytes).toString('latin1');
    });
    const readableGarbage = fc.constantFrom(
      "svc_' OR 1=1 --",
      '\r\nx-api-key: svc_x',
      '\0',
      `${client}\0`,
      'svc_'.repeat(2_000),
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(garbage, readableGarbage), fc.boolean(), async (text, asBearer) => {
        const headers = asBearer ? bearer(text) : apiKey(text);
        const answer = await askRaw(app.url, { path: '/v1/key', headers });
        expect([400, 401, 431]).toContain(answer.status);
        const { error } = JSON.parse(answer.body) as { error: { code: string } };
        expect(['invalid_api_key', 'missing_api_key', 'invalid_request', 'request_too_large']).toContain(
          error.code,
        );
      }),
      { numRuns: 60 },
    );
    expect((await send('/v1/key', bearer(client), undefined, 'GET')).status).toBe(200);
  });

  test('unknown key and wrong secret get the same refusal', async () => {
    const { publicId } = await createKey({});
    const body = publicId + generateKey().text.slice(12, -6);
    const refusalOf = async (key: string): Promise<string> => {
      const { status, body } = await askRaw(app.url, { path: '/v1/key', headers: bearer(key) });
      return `${status} ${body.replace(/"request_id":"[^"]+"/g, '')}`;
    };
    const wrongSecret = await refusalOf(`svc_${body}${checksumOf(body)}`);
    expect(wrongSecret).toContain('invalid_api_key');
    expect(await refusalOf(generateKey().text)).toBe(wrongSecret);
  });

  test.each(routes)(
    '%s rejects two different keys, a key in the query and a missing key',
    async (path, body) => {
      const otherKey = generateKey().text;
      expect(await send(path, { ...bearer(client), ...apiKey(otherKey) }, body)).toEqual({
        status: 400,
        code: 'invalid_request',
        param: 'x-api-key',
      });
      for (const name of ['key', 'api_key', 'access_token']) {
        expect(await send(`${path}?${name}=${client}`, {}, body)).toMatchObject({
          status: 401,
          code: 'missing_api_key',
        });
      }
      expect(await supplier.requests()).toEqual([]);
    },
  );

  test('key that shares the prefix of a valid key is rejected', async () => {
    expect((await chat(client, 'sim-small')).status).toBe(200);
    const body = client.slice(4, 20) + generateKey().text.slice(20, -6);
    const similarKey = `svc_${body}${checksumOf(body)}`;
    expect(similarKey.slice(0, 20)).toBe(client.slice(0, 20));
    expect(await chat(similarKey, 'sim-small')).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect((await chat(client, 'sim-small')).status).toBe(200);
  });
});

describe('Key kinds', () => {
  test.each(routes)(
    '%s rejects the root key and allows a webchat key only on the chat route',
    async (path, body) => {
      const webchatKey = await addKey(app, owner, { kind: 'webchat' });
      expect(await send(path, bearer(app.firstKeys?.root ?? ''), body)).toMatchObject({
        status: 403,
        code: 'forbidden',
      });
      const isChat = path === '/v1/chat/completions';
      expect(await send(path, bearer(webchatKey.text), body)).toMatchObject(
        isChat ? { status: 200 } : { status: 403, code: 'webchat_key_scope' },
      );
      expect(await supplier.requests()).toHaveLength(isChat ? 1 : 0);
    },
  );

  test.each([
    ['POST', '/v1/manage/keys', { name: 'mine' }],
    ['GET', '/v1/manage/keys', undefined],
    ['GET', '/v1/manage/keys/abcdefgh', undefined],
    ['PATCH', '/v1/manage/keys/abcdefgh', { budget_limit: 1_000 }],
    ['DELETE', '/v1/manage/keys/abcdefgh', undefined],
    ['POST', '/v1/manage/keys/abcdefgh/rotate', {}],
    ['GET', '/v1/manage/keys/abcdefgh/audit', undefined],
  ])('%s %s is allowed with the root key only', async (method, path, body) => {
    expect(await send(path, bearer(client), body, method)).toMatchObject({ status: 403, code: 'forbidden' });
  });
});

describe('Allowed models', () => {
  const modelNotAllowed = { status: 403, code: 'model_not_allowed', param: 'model' };

  test('restriction applies with either header', async () => {
    const { text } = await createKey({
      allowedModels: ['sim-small'],
      allowedRegions: ['local'],
      rateLimitRpm: 6,
    });
    const body = { model: 'sim-large', max_tokens: 50, messages: message };
    for (const headers of [bearer(text), apiKey(text)]) {
      expect(await send('/v1/messages', headers, body)).toEqual(modelNotAllowed);
      const otherRegion = { ...body, model: 'sim-small', region: 'nowhere' };
      expect(await send('/v1/messages', headers, otherRegion)).toMatchObject({
        status: 400,
        code: 'invalid_request',
        param: 'region',
      });
    }
    const allowedBody = { ...body, model: 'sim-small' };
    const statuses: number[] = [];
    for (const headers of [bearer(text), apiKey(text), bearer(text), apiKey(text)]) {
      statuses.push((await send('/v1/messages', headers, allowedBody)).status);
    }
    expect(statuses).toEqual([200, 200, 429, 429]);
  });

  test('model that is not listed is rejected by name, by alias and by redirect', async () => {
    const { text } = await createKey({ allowedModels: ['sim-small', 'moved'] });
    for (const model of ['sim-large', 'friendly', 'moved'])
      expect(await chat(text, model)).toEqual(modelNotAllowed);
    for (const [path, body] of routes.slice(3)) {
      expect(await send(path, bearer(text), body)).toEqual(modelNotAllowed);
    }
    expect(await supplier.requests()).toEqual([]);
    expect((await chat(text, 'sim-small')).status).toBe(200);
  });

  test('listed alias allows its model and no other', async () => {
    const { text } = await createKey({ allowedModels: ['friendly'] });
    expect((await chat(text, 'friendly')).status).toBe(200);
    expect((await chat(text, 'sim-large')).status).toBe(200);
    expect((await chat(text, 'moved')).status).toBe(200);
    expect(await chat(text, 'sim-small')).toEqual(modelNotAllowed);
    expect(new Set(await upstreamModels())).toEqual(new Set(['sim-large']));
  });

  test('model denied to the organisation or department returns 403', async () => {
    const editor = new CatalogueEditor();
    const { text, organisationId, departmentId } = await createDepartmentKey();
    const accessDenied = { status: 403, code: 'model_not_accessible', param: 'model' };
    const setAccess = async (organisation: boolean, department: boolean): Promise<void> => {
      await app.database.transaction(async (tx) => {
        await editor.setOrganisationAccess(tx, 'backed', organisationId, { enabled: organisation });
        await editor.setDepartmentAccess(tx, departmentId, 'sim-large', department);
      });
      await app.application.get(CatalogueService).reload();
    };
    await setAccess(false, false);
    for (const model of ['backed', 'sim-large', 'friendly', 'moved'])
      expect(await chat(text, model)).toEqual(accessDenied);
    expect((await chat(text, 'sim-small')).status).toBe(200);
    // Other organisations are unaffected.
    expect((await chat(client, 'backed')).status).toBe(200);
    await setAccess(true, true);
    expect((await chat(text, 'backed')).status).toBe(200);
    expect((await chat(text, 'friendly')).status).toBe(200);
  });

  test('only lanes of a listed model are called, however its suppliers fail', async () => {
    const { text } = await createKey({ allowedModels: ['backed'] });
    await supplier.addFault({ match: { model: 'sim-backed-first' }, fault: { kind: 'status', status: 500 } });
    const steeringFields = { models: ['sim-large'], fallbacks: [{ model: 'sim-large' }], route: 'fallback' };
    expect((await chat(text, 'backed', steeringFields)).status).toBe(200);
    expect(await upstreamModels()).toEqual(['sim-backed-first', 'sim-backed-second']);
    await supplier.addFault({
      match: { model: 'sim-backed-second' },
      fault: { kind: 'status', status: 500 },
    });
    for (let round = 0; round < 4; round += 1) {
      expect((await chat(text, 'backed', steeringFields)).status).toBeGreaterThanOrEqual(502);
    }
    const otherModels = (await upstreamModels()).filter((model) => !model.startsWith('sim-backed-'));
    expect(otherModels).toEqual([]);
  });
});

describe('Key revoked during a stream', () => {
  const streamingRoutes: readonly [path: string, body: object, ends: RegExp][] = [
    ['/v1/chat/completions', {}, /\[DONE\]/],
    ['/v1/messages', { max_tokens: 2_000 }, /message_stop/],
  ];

  test.each(streamingRoutes)(
    '%s stream is interrupted with an error and charged up to that point',
    async (path, rest, ends) => {
      const { publicId, text } = await createKey({});
      const content = 'Go on [[tokens=2000]] [[pace=20]]';
      const answer = await fetch(app.url + path, {
        method: 'POST',
        headers: { ...bearer(text), 'content-type': 'application/json' },
        body: JSON.stringify({
          ...rest,
          model: 'sim-large',
          stream: true,
          messages: [{ role: 'user', content }],
        }),
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      let received = '';
      let revokedAt = 0;
      for await (const chunk of answer.body ?? []) {
        received += Buffer.from(chunk).toString('utf8');
        if (revokedAt > 0 || received.length < 4_000) continue;
        revokedAt = performance.now();
        const revocation = await send(
          `/v1/manage/keys/${publicId}`,
          bearer(app.firstKeys?.root ?? ''),
          undefined,
          'DELETE',
        );
        expect(revocation.status).toBeLessThan(300);
      }
      expect(revokedAt).toBeGreaterThan(0);
      // The stream would last another forty seconds.
      expect(performance.now() - revokedAt).toBeLessThan(25_000);
      expect(received).not.toMatch(ends);
      expect(received).toContain('"code":"stream_interrupted"');
      await supplier.waitForClosed(1, 'client-closed');
      const wordCount = [...received.matchAll(/"(?:content|text)":" ?[a-z]{3}"/g)].length;
      const id = answer.headers.get('x-request-id');
      const record = async (): Promise<Record<string, unknown> | undefined> =>
        (
          await app.database.query<Record<string, unknown>>(
            'SELECT * FROM request_record WHERE request_id = $1',
            [id],
          )
        )[0];
      await until(async () => (await record()) !== undefined);
      const row = await record();
      expect(row).toMatchObject({ code: 'stream_interrupted', stream: true });
      // A word with its space is a token; the first one has no space.
      expect(Number(row?.output_tokens)).toBe(wordCount);
      expect(wordCount).toBeGreaterThan(10);
      expect(wordCount).toBeLessThan(1_900);
      expect(await send(path, bearer(text), { model: 'sim-small' })).toMatchObject({
        status: 401,
        code: 'invalid_api_key',
      });
    },
  );
});
