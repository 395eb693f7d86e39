import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import type { NewKey } from '../../../src/keys';
import { addCustomer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { ModelShelf } from './model-shelf';

type Json = Record<string, unknown>;

const answered = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'theirs',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
};

describe('details of the gateway that are specified', () => {
  let app: TestApp;
  let first: ScriptedSupplier;
  let second: ScriptedSupplier;
  let shelf: ModelShelf;
  let key: string;

  beforeAll(async () => {
    [first, second] = [await ScriptedSupplier.start(), await ScriptedSupplier.start()];
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    shelf = new ModelShelf(app);
    const credentials = [{ label: 'key', secret: 'sim-key', kind: 'bearer' }] as const;
    const supplier = { style: 'openai-style', credentials } as const;
    await shelf.provider({ ...supplier, name: 'one', baseUrl: first.url });
    await shelf.provider({ ...supplier, name: 'two', baseUrl: second.url });
    await shelf.provider({
      ...supplier,
      name: 'insists',
      baseUrl: first.url,
      settings: { profile: 'openai' },
    });
    await shelf.provider({ ...supplier, name: 'named', baseUrl: first.url, settings: { voice: 'anna' } });
    await shelf.model('talk', [{ provider: 'one' }, { provider: 'two', upstreamModel: 'other' }]);
    await shelf.model('alone', [{ provider: 'one' }]);
    for (const provider of ['one', 'insists', 'named'])
      await shelf.model(`voice-${provider}`, [{ provider }], { perCallNano: 1n }, 'speech');
    key = await keyOf('usual');
  });
  beforeEach(() => {
    for (const supplier of [first, second]) {
      supplier.answer = { body: answered };
      supplier.heard.length = 0;
    }
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([first.stop(), second.stop()]);
  });

  const keyOf = async (name: string, limits: Partial<NewKey> = {}): Promise<string> =>
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
  const sent = (supplier: ScriptedSupplier): Json => JSON.parse(supplier.heard.at(-1)?.body ?? '{}') as Json;

  describe('speech without voice and format', () => {
    const audio = { body: Buffer.from('ID3-sound'), headers: { 'content-type': 'audio/mpeg' } };

    test.each([
      ['voice-one', undefined],
      ['voice-insists', 'alloy'],
      ['voice-named', 'anna'],
    ])('%s is asked for mp3 in the voice %s', async (model, voice) => {
      first.answer = audio;
      const answer = await send('/v1/audio/speech', { model, input: 'Hello' });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
      expect([sent(first).voice, sent(first).response_format]).toEqual([voice, 'mp3']);
    });

    test('`opus`, `aac`, `flac`, `pcm` are refused unless the vendor has them; mp3 and wav pass', async () => {
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

    test('`instructions: 5` is refused', async () => {
      for (const [path, body] of [
        ['/v1/audio/speech', { model: 'voice-one', input: 'x' }],
        ['/v1/responses', { model: 'alone', input: 'x' }],
        ['/v1/native/responses', { model: 'alone', input: [], stream: true }],
      ] as const) {
        const answer = await send(path, { ...body, instructions: 5 });
        expect([path, answer.status, (await errorOf(answer)).param]).toEqual([path, 400, 'instructions']);
      }
      expect(first.heard).toEqual([]);
    });

    test('what the caller names is sent', async () => {
      first.answer = { ...audio, headers: { 'content-type': 'audio/wav' } };
      await send('/v1/audio/speech', {
        model: 'voice-named',
        input: 'x',
        voice: 'bo',
        response_format: 'wav',
      });
      expect(sent(first)).toMatchObject({ voice: 'bo', response_format: 'wav' });
    });
  });

  describe('refusals that another supplier may not share', () => {
    test.each([405, 409, 415, 422, 451])('%i of the first is the answer of the second', async (status) => {
      first.answer = { status, body: { error: { message: 'Not like this.' } } };
      const answer = await chat('talk');
      expect([
        answer.status,
        answer.headers.get('x-svc-supplier'),
        answer.headers.get('x-svc-failover'),
      ]).toEqual([200, 'two', 'true']);
    });

    test('422 of all of them is the caller’s, in the supplier’s words', async () => {
      for (const supplier of [first, second])
        supplier.answer = { status: 422, body: { error: { message: 'temperature is odd' } } };
      const answer = await chat('talk', { user: 'both' });
      expect([answer.status, await errorOf(answer)]).toMatchObject([
        400,
        { code: 'invalid_request', details: { supplier: { message: 'temperature is odd' } } },
      ]);
      expect([first.heard.length, second.heard.length]).toEqual([1, 1]);
    });

    test('400 is not asked again', async () => {
      first.answer = { status: 400, body: { error: { message: 'no' } } };
      expect((await chat('talk', { user: 'refused' })).status).toBe(400);
      expect(second.heard).toEqual([]);
    });

    test('a numeric code stays a number', async () => {
      first.answer = { status: 400, body: { error: { message: 'no', code: -32602 } } };
      expect(await errorOf(await chat('alone'))).toMatchObject({ details: { supplier: { code: -32602 } } });
    });
  });

  test('names of the session go to no supplier, other labels do', async () => {
    const metadata = { session_id: 's', sticky_key: 't', project: 'p' };
    expect((await chat('alone', { metadata })).status).toBe(200);
    expect(sent(first).metadata).toEqual({ project: 'p' });
    await chat('alone', { metadata: { session_id: 's' } });
    expect(sent(first)).not.toHaveProperty('metadata');
  });

  describe('a key whose list names auto', () => {
    test('and nothing else: the service chooses, and nothing may be named', async () => {
      const only = await keyOf('only-auto', { allowedModels: ['auto'] });
      for (const [path, extra] of [
        ['/v1/chat/completions', {}],
        ['/v1/messages', { max_tokens: 50 }],
      ] as const) {
        const messages = [{ role: 'user', content: 'Hello' }];
        expect((await send(path, { model: 'auto', messages, ...extra }, only)).status).toBe(200);
        expect((await send(path, { model: 'alone', messages, ...extra }, only)).status).toBe(403);
      }
      const counted = await send(
        '/v1/messages/count_tokens',
        { model: 'auto', messages: [{ role: 'user', content: 'Hello' }] },
        only,
      );
      expect(counted.status).toBe(200);
    });

    test('beside others: it chooses among these', async () => {
      const some = await keyOf('some-auto', { allowedModels: ['auto', 'alone'] });
      const answer = await chat('auto', {}, some);
      expect([answer.status, ((await answer.json()) as Json).model]).toEqual([200, 'alone']);
    });
  });

  describe('the list of models', () => {
    const listed = async (as: string): Promise<string[]> => {
      const answer = await fetch(`${app.url}/v1/models`, { headers: { authorization: `Bearer ${as}` } });
      return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    };

    test('has what the key can call, and nothing else', async () => {
      const editor = new CatalogueEditor();
      await shelf.model('leads-on', [{ provider: 'one' }]);
      await shelf.model('far', [{ provider: 'one', region: 'us' }]);
      await app.database.transaction(async (tx) => {
        await editor.setRedirect(tx, 'leads-on', 'talk');
        await editor.upsertModel(tx, { name: 'unpriced', kind: 'chat', ownedBy: 'test' });
        await editor.setLanes(tx, 'unpriced', [{ provider: 'one', upstreamModel: 'x', region: 'eu' }]);
      });
      await app.application.get(CatalogueService).reload();
      expect(await listed(key)).toEqual(expect.arrayContaining(['alone', 'far', 'leads-on', 'talk']));
      expect(await listed(key)).not.toContain('unpriced');
      const european = await keyOf('european', { allowedRegions: ['eu'] });
      expect(await listed(european)).toContain('alone');
      expect(await listed(european)).not.toContain('far');
      const source = await keyOf('source-only', { allowedModels: ['leads-on', 'alone'] });
      expect((await listed(source)).filter((id) => id !== 'auto')).toEqual(['alone']);
      for (const name of await listed(source)) expect((await chat(name, {}, source)).status).not.toBe(403);
    });
  });

  describe('a body is as specified', () => {
    test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
      'a key is not made of %s',
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

    test('a key is made of JSON with a charset', async () => {
      const answer = await fetch(`${app.url}/v1/manage/keys`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${app.firstKeys?.root}`,
          'content-type': 'Application/JSON; charset=utf-8',
        },
        body: JSON.stringify({ name: 'typed', budget_limit: 5, budget_period: 'rolling' }),
      });
      const { id } = (await answer.json()) as { id: string };
      const read = await fetch(`${app.url}/v1/manage/keys/${id}`, {
        headers: { authorization: `Bearer ${app.firstKeys?.root}` },
      });
      const { resets_at: resetsAt } = (await read.json()) as { resets_at: string };
      const days = (Date.parse(resetsAt) - Date.now()) / 86_400_000;
      expect(days).toBeGreaterThan(29.9);
      expect(days).toBeLessThanOrEqual(30);
    });
  });

  test('a wrong verb of the probe is told in the words of the gateway', async () => {
    const answer = await fetch(`${app.url}/health`, { method: 'POST' });
    expect([answer.status, await errorOf(answer)]).toMatchObject([
      405,
      { code: 'method_not_allowed', type: 'invalid_request_error' },
    ]);
  });
});
