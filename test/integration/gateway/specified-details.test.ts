import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import type { NewKey } from '../../../src/keys';
import { addCustomer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { TestCatalogue } from './test-catalogue';

type Json = Record<string, unknown>;

const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'theirs',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
};

describe('Specified details of the gateway', () => {
  let app: TestApp;
  let first: ScriptedSupplier;
  let second: ScriptedSupplier;
  let catalogue: TestCatalogue;
  let key: string;

  beforeAll(async () => {
    [first, second] = [await ScriptedSupplier.start(), await ScriptedSupplier.start()];
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    catalogue = new TestCatalogue(app);
    const credentials = [{ label: 'key', secret: 'sim-key', kind: 'bearer' }] as const;
    const supplier = { style: 'openai-style', credentials } as const;
    await catalogue.provider({ ...supplier, name: 'one', baseUrl: first.url });
    await catalogue.provider({ ...supplier, name: 'two', baseUrl: second.url });
    await catalogue.provider({
      ...supplier,
      name: 'insists',
      baseUrl: first.url,
      settings: { profile: 'openai' },
    });
    await catalogue.provider({ ...supplier, name: 'named', baseUrl: first.url, settings: { voice: 'anna' } });
    await catalogue.model('talk', [{ provider: 'one' }, { provider: 'two', upstreamModel: 'other' }]);
    await catalogue.model('alone', [{ provider: 'one' }]);
    for (const provider of ['one', 'insists', 'named'])
      await catalogue.model(`voice-${provider}`, [{ provider }], { perCallNano: 1n }, 'speech');
    key = await createKey('usual');
  });
  beforeEach(() => {
    for (const supplier of [first, second]) {
      supplier.answer = { body: completion };
      supplier.requests.length = 0;
    }
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([first.stop(), second.stop()]);
  });

  const createKey = async (name: string, limits: Partial<NewKey> = {}): Promise<string> =>
    (await addCustomer(app, name, 10n ** 12n, limits)).key;
  const send = (path: string, body: Json, as = key): Promise<Response> =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const chat = (model: string, extra: Json = {}, as = key): Promise<Response> =>
    send('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }], ...extra }, as);
  const errorOf = async (answer: Response): Promise<Json> => ((await answer.json()) as { error: Json }).error;
  const lastRequestTo = (supplier: ScriptedSupplier): Json =>
    JSON.parse(supplier.requests.at(-1)?.body ?? '{}') as Json;

  describe('Speech without voice and format', () => {
    const audio = { body: Buffer.from('ID3-sound'), headers: { 'content-type': 'audio/mpeg' } };

    test.each([
      ['voice-one', undefined],
      ['voice-insists', 'alloy'],
      ['voice-named', 'anna'],
    ])('speech request to %s asks for mp3 in the voice %s', async (model, voice) => {
      first.answer = audio;
      const answer = await send('/v1/audio/speech', { model, input: 'Hello' });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
      expect([lastRequestTo(first).voice, lastRequestTo(first).response_format]).toEqual([voice, 'mp3']);
    });

    test('`opus`, `aac`, `flac` and `pcm` are rejected unless the vendor supports them; mp3 and wav pass', async () => {
      first.answer = audio;
      const statusOf = async (model: string, response_format: string) => {
        const answer = await send('/v1/audio/speech', { model, input: 'x', response_format });
        const { error } = answer.ok ? {} : ((await answer.json()) as { error?: Json });
        return [response_format, answer.status, error?.param];
      };
      for (const format of ['opus', 'aac', 'flac', 'pcm']) {
        expect(await statusOf('voice-one', format)).toEqual([format, 400, 'response_format']);
        expect(await statusOf('voice-insists', format)).toEqual([format, 200, undefined]);
      }
      for (const format of ['mp3', 'wav'])
        expect(await statusOf('voice-one', format)).toEqual([format, 200, undefined]);
    });

    test('`instructions: 5` is rejected with 400', async () => {
      for (const [path, body] of [
        ['/v1/audio/speech', { model: 'voice-one', input: 'x' }],
        ['/v1/responses', { model: 'alone', input: 'x' }],
        ['/v1/native/responses', { model: 'alone', input: [], stream: true }],
      ] as const) {
        const answer = await send(path, { ...body, instructions: 5 });
        expect([path, answer.status, (await errorOf(answer)).param]).toEqual([path, 400, 'instructions']);
      }
      expect(first.requests).toEqual([]);
    });

    test('voice and format chosen by the caller are sent to the supplier', async () => {
      first.answer = { ...audio, headers: { 'content-type': 'audio/wav' } };
      await send('/v1/audio/speech', {
        model: 'voice-named',
        input: 'x',
        voice: 'bo',
        response_format: 'wav',
      });
      expect(lastRequestTo(first)).toMatchObject({ voice: 'bo', response_format: 'wav' });
    });
  });

  describe('Errors that another supplier might not return', () => {
    test.each([405, 409, 415, 422, 451])(
      '%i from the first supplier fails over to the second',
      async (status) => {
        first.answer = { status, body: { error: { message: 'Not like this.' } } };
        const answer = await chat('talk');
        expect([
          answer.status,
          answer.headers.get('x-svc-supplier'),
          answer.headers.get('x-svc-failover'),
        ]).toEqual([200, 'two', 'true']);
      },
    );

    test("422 from every supplier becomes a 400 with the supplier's message", async () => {
      for (const supplier of [first, second])
        supplier.answer = { status: 422, body: { error: { message: 'temperature is odd' } } };
      const answer = await chat('talk', { user: 'both' });
      expect([answer.status, await errorOf(answer)]).toMatchObject([
        400,
        { code: 'invalid_request', details: { supplier: { message: 'temperature is odd' } } },
      ]);
      expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
    });

    test('400 from the first supplier does not fail over', async () => {
      first.answer = { status: 400, body: { error: { message: 'no' } } };
      expect((await chat('talk', { user: 'refused' })).status).toBe(400);
      expect(second.requests).toEqual([]);
    });

    test('numeric supplier code stays a number', async () => {
      first.answer = { status: 400, body: { error: { message: 'no', code: -32602 } } };
      expect(await errorOf(await chat('alone'))).toMatchObject({ details: { supplier: { code: -32602 } } });
    });
  });

  test('session labels are withheld from suppliers, other metadata is sent', async () => {
    const metadata = { session_id: 's', sticky_key: 't', project: 'p' };
    expect((await chat('alone', { metadata })).status).toBe(200);
    expect(lastRequestTo(first).metadata).toEqual({ project: 'p' });
    await chat('alone', { metadata: { session_id: 's' } });
    expect(lastRequestTo(first)).not.toHaveProperty('metadata');
  });

  describe('Key that lists auto', () => {
    test('key restricted to auto can use auto but no named model', async () => {
      const autoOnlyKey = await createKey('only-auto', { allowedModels: ['auto'] });
      for (const [path, extra] of [
        ['/v1/chat/completions', {}],
        ['/v1/messages', { max_tokens: 50 }],
      ] as const) {
        const messages = [{ role: 'user', content: 'Hello' }];
        expect((await send(path, { model: 'auto', messages, ...extra }, autoOnlyKey)).status).toBe(200);
        expect((await send(path, { model: 'alone', messages, ...extra }, autoOnlyKey)).status).toBe(403);
      }
      const countResponse = await send(
        '/v1/messages/count_tokens',
        { model: 'auto', messages: [{ role: 'user', content: 'Hello' }] },
        autoOnlyKey,
      );
      expect(countResponse.status).toBe(200);
    });

    test('key that lists auto and other models gets one of the others', async () => {
      const mixedKey = await createKey('some-auto', { allowedModels: ['auto', 'alone'] });
      const answer = await chat('auto', {}, mixedKey);
      expect([answer.status, ((await answer.json()) as Json).model]).toEqual([200, 'alone']);
    });
  });

  describe('List of models', () => {
    const listModels = async (as: string): Promise<string[]> => {
      const answer = await fetch(`${app.url}/v1/models`, { headers: { authorization: `Bearer ${as}` } });
      return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    };

    test('list of models contains exactly the models that the key can call', async () => {
      const editor = new CatalogueEditor();
      await catalogue.model('leads-on', [{ provider: 'one' }]);
      await catalogue.model('far', [{ provider: 'one', region: 'us' }]);
      await app.database.transaction(async (tx) => {
        await editor.setRedirect(tx, 'leads-on', 'talk');
        await editor.upsertModel(tx, { name: 'unpriced', kind: 'chat', ownedBy: 'test' });
        await editor.setLanes(tx, 'unpriced', [{ provider: 'one', upstreamModel: 'x', region: 'eu' }]);
      });
      await app.application.get(CatalogueService).reload();
      expect(await listModels(key)).toEqual(expect.arrayContaining(['alone', 'far', 'leads-on', 'talk']));
      expect(await listModels(key)).not.toContain('unpriced');
      const europeanKey = await createKey('european', { allowedRegions: ['eu'] });
      expect(await listModels(europeanKey)).toContain('alone');
      expect(await listModels(europeanKey)).not.toContain('far');
      const sourceKey = await createKey('source-only', { allowedModels: ['leads-on', 'alone'] });
      expect((await listModels(sourceKey)).filter((id) => id !== 'auto')).toEqual(['alone']);
      for (const name of await listModels(sourceKey))
        expect((await chat(name, {}, sourceKey)).status).not.toBe(403);
    });
  });

  describe('Request bodies of the management API', () => {
    test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
      'key creation rejects %s with 415',
      async (type) => {
        const answer = await fetch(`${app.url}/v1/manage/keys`, {
          method: 'POST',
          headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': type },
          body: JSON.stringify({ name: 'typed' }),
        });
        expect([answer.status, await errorOf(answer)]).toMatchObject([
          415,
          { code: 'unsupported_media_type' },
        ]);
      },
    );

    test('key creation accepts JSON with a charset', async () => {
      const answer = await fetch(`${app.url}/v1/manage/keys`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${app.firstKeys?.root}`,
          'content-type': 'Application/JSON; charset=utf-8',
        },
        body: JSON.stringify({ name: 'typed', budget_limit: 5, budget_period: 'rolling' }),
      });
      const { id } = (await answer.json()) as { id: string };
      const readResponse = await fetch(`${app.url}/v1/manage/keys/${id}`, {
        headers: { authorization: `Bearer ${app.firstKeys?.root}` },
      });
      const { resets_at: resetsAt } = (await readResponse.json()) as { resets_at: string };
      const days = (Date.parse(resetsAt) - Date.now()) / 86_400_000;
      expect(days).toBeGreaterThan(29.9);
      expect(days).toBeLessThanOrEqual(30);
    });
  });

  test("POST /health returns 405 in the gateway's error format", async () => {
    const answer = await fetch(`${app.url}/health`, { method: 'POST' });
    expect([answer.status, await errorOf(answer)]).toMatchObject([
      405,
      { code: 'method_not_allowed', type: 'invalid_request_error' },
    ]);
  });
});
