import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import { type AnswerModel, parseUsdPerMillion } from '#product/kernel';
import { addCustomer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';
import { TestCatalogue } from './test-catalogue';

type Json = Record<string, unknown>;

const paths = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
} as const;
type NamedSurface = keyof typeof paths;
const surfaces = Object.keys(paths) as NamedSurface[];
const models = ['on-chat', 'on-messages', 'on-responses'] as const;
const cases = surfaces.flatMap((surface) => models.map((model) => [surface, model] as const));
const UPSTREAM_MODEL = 'sim-large';

/** Distinct model names in a response or in the events of a stream. */
const namesIn = (text: string): unknown[] => {
  const values = text.startsWith('{')
    ? [JSON.parse(text) as Json]
    : text
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice(6)) as Json);
  const names = values.flatMap(({ model, message, response }) => [
    model,
    (message as Json | undefined)?.model,
    (response as Json | undefined)?.model,
  ]);
  return [...new Set(names.filter((name) => name !== undefined))];
};

describe('Model name in responses', () => {
  let app: TestApp;
  let simulator: Simulator;
  const keys: Record<string, string> = {};

  beforeAll(async () => {
    simulator = await startSimulator({
      lanes: [
        { name: 'first', region: 'eu' },
        { name: 'second', region: 'eu' },
      ],
    });
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    const bearer = { label: 'key', secret: 'sim-key', kind: 'bearer' } as const;
    const header = { ...bearer, kind: 'header' } as const;
    for (const { name: lane, url: baseUrl } of simulator.lanes) {
      const endpointOf = (name: string): { name: string; baseUrl: string } => ({
        name: `${lane}-${name}`,
        baseUrl,
      });
      await catalogue.provider({ ...endpointOf('chat'), style: 'openai-style', credentials: [bearer] });
      await catalogue.provider({ ...endpointOf('messages'), style: 'messages-style', credentials: [header] });
      const settings = { profile: 'openai' };
      await catalogue.provider({
        ...endpointOf('responses'),
        style: 'openai-style',
        settings,
        credentials: [bearer],
      });
    }
    for (const dialect of ['chat', 'messages', 'responses'])
      await catalogue.model(`on-${dialect}`, [
        { provider: `first-${dialect}`, priority: 0 },
        { provider: `second-${dialect}`, upstreamModel: 'sim-small', priority: 1 },
      ]);
    const singleShotModels = [
      ['vectors', 'sim-embed', 'embedding', { input: parseUsdPerMillion('1') }],
      ['ranking', 'sim-rerank', 'rerank', { input: parseUsdPerMillion('1') }],
      ['judging', 'sim-moderation', 'moderation', { input: parseUsdPerMillion('1') }],
    ] as const;
    for (const [name, upstreamModel, kind, rates] of singleShotModels)
      await catalogue.model(name, [{ provider: 'first-chat', upstreamModel }], rates, kind);
    for (const [name, answerModel] of [
      ['plain', null],
      ['ours', 'caller'],
      ['theirs', 'supplier'],
    ] as const)
      keys[name] = (await addCustomer(app, name, 10n ** 12n, { answerModel })).key;
  });
  afterEach(() => simulator.clearFaults());
  afterAll(async () => {
    await app.close();
    await simulator.stop();
  });

  const setModel = async (name: string, answerModel: AnswerModel): Promise<void> => {
    await app.database.transaction((tx) => new CatalogueEditor().upsertModel(tx, { name, answerModel }));
    await app.application.get(CatalogueService).reload();
  };

  const post = (key: string, path: string, body: Json, headers: object = {}): Promise<Response> =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[key]}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  const sendRequest = (
    key: string,
    surface: NamedSurface,
    model: string,
    extra: Json = {},
  ): Promise<Response> => {
    const messages = [{ role: 'user', content: 'names [[tokens=30]]' }];
    const body = surface === 'responses' ? { input: messages } : { messages, max_tokens: 500 };
    return post(key, paths[surface], { model, ...body, ...extra });
  };

  const servedModel = async (answer: Response): Promise<unknown> => {
    const [row] = await app.database.query<{ model: string; served_model: string }>(
      'SELECT model, served_model FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    return row;
  };

  test.each(cases)(
    '%s request to %s reports the requested model by default, streaming or not',
    async (surface, model) => {
      for (const stream of [false, true]) {
        const answer = await sendRequest('plain', surface, model, { stream });
        expect([answer.status, namesIn(await answer.text())]).toEqual([200, [model]]);
        expect(answer.headers.get('x-svc-upstream-model')).toBe(UPSTREAM_MODEL);
      }
    },
  );

  test.each(cases)(
    '%s request to %s reports the upstream model when the key says so',
    async (surface, model) => {
      for (const stream of [false, true]) {
        const answer = await sendRequest('theirs', surface, model, { stream });
        expect([answer.status, namesIn(await answer.text())]).toEqual([200, [UPSTREAM_MODEL]]);
        expect(answer.headers.get('x-svc-upstream-model')).toBe(UPSTREAM_MODEL);
        expect(await servedModel(answer)).toEqual({ model, served_model: UPSTREAM_MODEL });
      }
    },
  );

  test('key setting takes precedence over the model setting', async () => {
    await setModel('on-chat', 'supplier');
    const reportedNames = async (key: string): Promise<unknown[]> =>
      namesIn(await (await sendRequest(key, 'chat', 'on-chat')).text());
    expect([
      await reportedNames('plain'),
      await reportedNames('ours'),
      await reportedNames('theirs'),
    ]).toEqual([[UPSTREAM_MODEL], ['on-chat'], [UPSTREAM_MODEL]]);
    await setModel('on-chat', 'caller');
    expect(await reportedNames('plain')).toEqual(['on-chat']);
  });

  test.each(surfaces)(
    '%s stream keeps its model name after it continues on another lane',
    async (surface) => {
      await simulator.addFault({ match: { lane: 'first' }, fault: { kind: 'cut', after: 20 } });
      const answer = await sendRequest('theirs', surface, `on-${surface}`, { stream: true });
      const text = await answer.text();
      expect(text).toMatch(/\[DONE\]|message_stop|response\.completed/);
      expect(namesIn(text)).toEqual([UPSTREAM_MODEL]);
      expect(await servedModel(answer)).toMatchObject({ served_model: 'sim-small' });
    },
  );

  test.each([
    ['completions', '/v1/completions', { model: 'on-chat', prompt: 'names' }],
    ['embeddings', '/v1/embeddings', { model: 'vectors', input: 'names', encoding_format: 'base64' }],
    ['rerank', '/v1/rerank', { model: 'ranking', query: 'names', documents: ['one', 'two'] }],
    ['moderations', '/v1/moderations', { model: 'judging', input: 'names' }],
  ])("%s reports the model that the key's setting selects", async (_, path, body) => {
    const requestedNames = namesIn(await (await post('plain', path, body)).text());
    const upstreamNames = namesIn(await (await post('theirs', path, body)).text());
    // A rerank response need not name a model.
    expect(requestedNames).toEqual(requestedNames.length === 0 ? [] : [body.model]);
    expect(upstreamNames).toEqual(requestedNames.length === 0 ? [] : [expect.stringMatching(/^sim-/)]);
    if (path !== '/v1/rerank') expect(requestedNames).toHaveLength(1);
  });

  test('answer_model is set and reset through the management API and audited', async () => {
    const manage = (method: string, path: string, body: Json): Promise<Response> =>
      fetch(`${app.url}/v1/manage/keys${path}`, {
        method,
        headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const createResponse = await manage('POST', '', { name: 'managed', answer_model: 'supplier' });
    const { id, key } = (await createResponse.json()) as { id: string; key: string };
    keys.managed = key;
    expect(namesIn(await (await sendRequest('managed', 'chat', 'on-chat')).text())).toEqual([UPSTREAM_MODEL]);
    const updateResponse = await manage('PATCH', `/${id}`, { answer_model: null });
    expect(await updateResponse.json()).toMatchObject({ answer_model: null });
    expect(namesIn(await (await sendRequest('managed', 'chat', 'on-chat')).text())).toEqual(['on-chat']);
    const rejection = await manage('PATCH', `/${id}`, { answer_model: 'nobody' });
    expect([rejection.status, await rejection.json()]).toMatchObject([
      400,
      { error: { param: 'answer_model' } },
    ]);
    const entries = await app.database.query<{ changes: object }>(
      'SELECT changes FROM activity WHERE object_id = (SELECT id::text FROM api_key WHERE public_id = $1) ORDER BY id',
      [id],
    );
    expect(entries.map(({ changes }) => changes)).toMatchObject([
      { answer_model: [null, 'supplier'] },
      { answer_model: ['supplier', null] },
    ]);
  });

  test('replayed response keeps the model name of the original', async () => {
    const idempotencyHeaders = { 'idempotency-key': 'names' };
    const body = { model: 'on-messages', messages: [{ role: 'user', content: 'names' }] };
    const first = await post('theirs', paths.chat, body, idempotencyHeaders);
    const replay = await post('theirs', paths.chat, body, idempotencyHeaders);
    expect(replay.headers.get('x-svc-replayed')).toBe('true');
    expect([namesIn(await first.text()), namesIn(await replay.text())]).toEqual([
      [UPSTREAM_MODEL],
      [UPSTREAM_MODEL],
    ]);
  });

  test('stored response keeps the model name of the original', async () => {
    const answer = (await (await sendRequest('theirs', 'responses', 'on-responses')).json()) as Json;
    const storedResponse = await fetch(`${app.url}${paths.responses}/${String(answer.id)}`, {
      headers: { authorization: `Bearer ${keys.theirs}` },
    });
    const storedBody = (await storedResponse.json()) as Json;
    expect(storedBody.model).toBe(UPSTREAM_MODEL);
    expect(storedBody).not.toHaveProperty('svc_model');
  });

  // Last, because the circuit breakers of the first lanes are open from here on.
  test.each(cases)(
    '%s request to %s reports the model of the lane that answered after a failover',
    async (surface, model) => {
      await simulator.addFault({ match: { lane: 'first' }, fault: { kind: 'status', status: 503 } });
      for (const stream of [false, true]) {
        const answer = await sendRequest('theirs', surface, model, { stream });
        expect([answer.status, namesIn(await answer.text())]).toEqual([200, ['sim-small']]);
      }
    },
  );
});
