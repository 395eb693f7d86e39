import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import { type AnswerModel, parseUsdPerMillion } from '#product/kernel';
import { addCustomer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';
import { ModelShelf } from './model-shelf';

type Json = Record<string, unknown>;

const paths = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
} as const;
type Surface = keyof typeof paths;
const surfaces = Object.keys(paths) as Surface[];
/** Every model by the dialect that its supplier speaks. */
const suppliers = ['on-chat', 'on-messages', 'on-responses'] as const;
const cases = surfaces.flatMap((surface) => suppliers.map((model) => [surface, model] as const));
const THEIRS = 'sim-large';

/** Every name of a model in an answer or in the events of a stream, each once. */
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

describe('an answer carries one name of the model', () => {
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
    const shelf = new ModelShelf(app);
    const bearer = { label: 'key', secret: 'sim-key', kind: 'bearer' } as const;
    const header = { ...bearer, kind: 'header' } as const;
    for (const { name: lane, url: baseUrl } of simulator.lanes) {
      const at = (name: string): { name: string; baseUrl: string } => ({ name: `${lane}-${name}`, baseUrl });
      await shelf.provider({ ...at('chat'), style: 'openai-style', credentials: [bearer] });
      await shelf.provider({ ...at('messages'), style: 'messages-style', credentials: [header] });
      const settings = { profile: 'openai' };
      await shelf.provider({ ...at('responses'), style: 'openai-style', settings, credentials: [bearer] });
    }
    for (const wire of ['chat', 'messages', 'responses'])
      await shelf.model(`on-${wire}`, [
        { provider: `first-${wire}`, priority: 0 },
        { provider: `second-${wire}`, upstreamModel: 'sim-small', priority: 1 },
      ]);
    const single = [
      ['vectors', 'sim-embed', 'embedding', { input: parseUsdPerMillion('1') }],
      ['ranking', 'sim-rerank', 'rerank', { input: parseUsdPerMillion('1') }],
      ['judging', 'sim-moderation', 'moderation', { input: parseUsdPerMillion('1') }],
    ] as const;
    for (const [name, upstreamModel, kind, rates] of single)
      await shelf.model(name, [{ provider: 'first-chat', upstreamModel }], rates, kind);
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

  const ask = (key: string, surface: Surface, model: string, extra: Json = {}): Promise<Response> => {
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

  test.each(cases)('%s of %s: ours usually, whole and streamed', async (surface, model) => {
    for (const stream of [false, true]) {
      const answer = await ask('plain', surface, model, { stream });
      expect([answer.status, namesIn(await answer.text())]).toEqual([200, [model]]);
      expect(answer.headers.get('x-svc-upstream-model')).toBe(THEIRS);
    }
  });

  test.each(cases)('%s of %s: the supplier’s where the key says so', async (surface, model) => {
    for (const stream of [false, true]) {
      const answer = await ask('theirs', surface, model, { stream });
      expect([answer.status, namesIn(await answer.text())]).toEqual([200, [THEIRS]]);
      expect(answer.headers.get('x-svc-upstream-model')).toBe(THEIRS);
      expect(await servedModel(answer)).toEqual({ model, served_model: THEIRS });
    }
  });

  test('a key decides before its model', async () => {
    await setModel('on-chat', 'supplier');
    const named = async (key: string): Promise<unknown[]> =>
      namesIn(await (await ask(key, 'chat', 'on-chat')).text());
    expect([await named('plain'), await named('ours'), await named('theirs')]).toEqual([
      [THEIRS],
      ['on-chat'],
      [THEIRS],
    ]);
    await setModel('on-chat', 'caller');
    expect(await named('plain')).toEqual(['on-chat']);
  });

  test.each(surfaces)('%s: a continued stream keeps the name it began with', async (surface) => {
    await simulator.addFault({ match: { lane: 'first' }, fault: { kind: 'cut', after: 20 } });
    const answer = await ask('theirs', surface, `on-${surface}`, { stream: true });
    const text = await answer.text();
    expect(text).toMatch(/\[DONE\]|message_stop|response\.completed/);
    expect(namesIn(text)).toEqual([THEIRS]);
    expect(await servedModel(answer)).toMatchObject({ served_model: 'sim-small' });
  });

  test.each([
    ['completions', '/v1/completions', { model: 'on-chat', prompt: 'names' }],
    ['embeddings', '/v1/embeddings', { model: 'vectors', input: 'names', encoding_format: 'base64' }],
    ['rerank', '/v1/rerank', { model: 'ranking', query: 'names', documents: ['one', 'two'] }],
    ['moderations', '/v1/moderations', { model: 'judging', input: 'names' }],
  ])('%s', async (_, path, body) => {
    const ours = namesIn(await (await post('plain', path, body)).text());
    const theirs = namesIn(await (await post('theirs', path, body)).text());
    // A ranking need not name a model.
    expect(ours).toEqual(ours.length === 0 ? [] : [body.model]);
    expect(theirs).toEqual(ours.length === 0 ? [] : [expect.stringMatching(/^sim-/)]);
    if (path !== '/v1/rerank') expect(ours).toHaveLength(1);
  });

  test('is set with the root key, is on record, and goes back to what the model says', async () => {
    const manage = (method: string, path: string, body: Json): Promise<Response> =>
      fetch(`${app.url}/v1/manage/keys${path}`, {
        method,
        headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const made = await manage('POST', '', { name: 'managed', answer_model: 'supplier' });
    const { id, key } = (await made.json()) as { id: string; key: string };
    keys.managed = key;
    expect(namesIn(await (await ask('managed', 'chat', 'on-chat')).text())).toEqual([THEIRS]);
    const changed = await manage('PATCH', `/${id}`, { answer_model: null });
    expect(await changed.json()).toMatchObject({ answer_model: null });
    expect(namesIn(await (await ask('managed', 'chat', 'on-chat')).text())).toEqual(['on-chat']);
    const refused = await manage('PATCH', `/${id}`, { answer_model: 'nobody' });
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: 'answer_model' } }]);
    const entries = await app.database.query<{ changes: object }>(
      'SELECT changes FROM activity WHERE object_id = (SELECT id::text FROM api_key WHERE public_id = $1) ORDER BY id',
      [id],
    );
    expect(entries.map(({ changes }) => changes)).toMatchObject([
      { answer_model: [null, 'supplier'] },
      { answer_model: ['supplier', null] },
    ]);
  });

  test('a replayed answer is the answer', async () => {
    const repeated = { 'idempotency-key': 'names' };
    const body = { model: 'on-messages', messages: [{ role: 'user', content: 'names' }] };
    const first = await post('theirs', paths.chat, body, repeated);
    const again = await post('theirs', paths.chat, body, repeated);
    expect(again.headers.get('x-svc-replayed')).toBe('true');
    expect([namesIn(await first.text()), namesIn(await again.text())]).toEqual([[THEIRS], [THEIRS]]);
  });

  test('a kept answer is read back as it was', async () => {
    const answer = (await (await ask('theirs', 'responses', 'on-responses')).json()) as Json;
    const kept = await fetch(`${app.url}${paths.responses}/${String(answer.id)}`, {
      headers: { authorization: `Bearer ${keys.theirs}` },
    });
    const shown = (await kept.json()) as Json;
    expect(shown.model).toBe(THEIRS);
    expect(shown).not.toHaveProperty('svc_model');
  });

  // The last, as the first lanes rest from here on.
  test.each(cases)('%s of %s: after a failover, the one that answered', async (surface, model) => {
    await simulator.addFault({ match: { lane: 'first' }, fault: { kind: 'status', status: 503 } });
    for (const stream of [false, true]) {
      const answer = await ask('theirs', surface, model, { stream });
      expect([answer.status, namesIn(await answer.text())]).toEqual([200, ['sim-small']]);
    }
  });
});
