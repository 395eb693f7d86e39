import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { priceRates } from '#product/kernel';
import { startTestApp, type TestApp } from '../../../support/app';
import { startSimulator, type Simulator } from '../../../support/simulator';

interface FieldNameError {
  readonly code: string;
  readonly param: string | null;
  readonly human_message: string;
}

const messages = [{ role: 'user', content: 'Hello' }];
const question = { model: 'local', messages };

describe('Request field names', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
    await addSuppliers();
  });
  beforeEach(() => supplier.clearRequests());
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  /** Adds one model per provider with the provider's name, and one model with a lane on each of two providers. */
  async function addSuppliers(): Promise<void> {
    const editor = new CatalogueEditor();
    const settings = {
      local: { profile: 'vllm' },
      plain: { profile: 'deepseek' },
      listed: { profile: 'deepseek', extra_fields: ['beam_width'] },
      strict: { profile: 'openai' },
    };
    await app.database.transaction(async (tx) => {
      for (const [name, own] of Object.entries(settings)) {
        const { id: providerId } = await editor.upsertProvider(tx, {
          name,
          style: 'openai-style',
          baseUrl: supplier.url,
          settings: own,
        });
        const credentials = app.application.get(CredentialEditor, { strict: false });
        await credentials.put(tx, { providerId, label: 'test', kind: 'bearer', secret: 'sim-test' });
      }
      for (const [name, providers] of [
        ...Object.keys(settings).map((provider) => [provider, [provider]] as const),
        ['either', ['plain', 'local']] as const,
      ]) {
        await editor.upsertModel(tx, { name, kind: 'chat', ownedBy: 'test' });
        const lanes = providers.map((provider, priority) => ({
          provider,
          upstreamModel: `sim-${provider}`,
          region: 'local',
          priority,
        }));
        await editor.setLanes(tx, name, lanes);
        await new PriceService().addPrice(tx, { model: name, source: 'test', rates: priceRates({}) });
      }
    });
    await app.application.get(CatalogueService).reload();
  }

  const post = (body: string | object, path = '/v1/chat/completions'): Promise<Response> =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const send = async (
    path: string,
    body: string | object,
  ): Promise<{ status: number; error: FieldNameError | null }> => {
    const answer = await post(body, path);
    const { error = null } = (await answer.json()) as { error?: FieldNameError };
    return { status: answer.status, error };
  };
  const chat = (body: string | object) => send('/v1/chat/completions', body);
  const supplierBodies = async (): Promise<Record<string, unknown>[]> =>
    (await supplier.requests()).map(({ body }) => body as Record<string, unknown>);

  test.each([
    ['Model', 'model'],
    ['MAX_TOKENS', 'max_tokens'],
    ['N', 'n'],
    ['Stream', 'stream'],
    ['Region', 'region'],
    ['ＭＯＤＥＬ', 'model'],
    ['max_to\u212aens', 'max_tokens'],
    ['\u017ftream', 'stream'],
    ['reg\u0131on', 'region'],
    ['re\u200bgion', 'region'],
    ['model ', 'model'],
    ['API_BASE', 'api_base'],
    ['User_Config', 'user_config'],
    ['Top_K', 'top_k'],
  ])('rejects the name %s, which a lenient parser reads as a known field', async (name, meant) => {
    const { status, error } = await chat({ ...question, [name]: 'x' });
    expect(status).toBe(400);
    expect(error?.param).toBe(name);
    if (meant !== undefined) expect(error?.human_message).toContain(`Write ${meant}.`);
    expect(await supplierBodies()).toEqual([]);
  });

  test.each([
    [{ stream: true, stream_options: { Include_Usage: false } }, 'stream_options.Include_Usage'],
    [{ metadata: { SESSION_ID: 'x' } }, 'metadata.SESSION_ID'],
  ])('rejects %j, whose nested name a lenient parser reads as a known field', async (more, param) => {
    expect((await chat({ ...question, ...more })).error).toMatchObject({ code: 'invalid_request', param });
  });

  test.each(['STREAM_OPTIONS', 'strEam_options', 'Thinking', 'Output_Config', 'ReasoninG'])(
    'rejects the spelling %s of a known name on every route',
    async (name) => {
      for (const [path, body] of [
        ['/v1/messages', { model: 'local', max_tokens: 5, messages }],
        ['/v1/embeddings', { model: 'local', input: 'Hello' }],
        ['/v1/rerank', { model: 'local', query: 'Hello', documents: ['Hello'] }],
      ] as const) {
        const { status, error } = await send(path, { ...body, [name.toLowerCase()]: {}, [name]: {} });
        expect([path, status, error?.param]).toEqual([path, 400, name]);
      }
      expect(await supplierBodies()).toEqual([]);
    },
  );

  test.each(['model', 'max_tokens', 'n', 'stream', 'region', 'messages', 'temperature', 'mod\\u0065l'])(
    'duplicate %s is rejected',
    async (name) => {
      const text = JSON.stringify({
        model: 'local',
        max_tokens: 5,
        n: 1,
        stream: false,
        region: 'local',
        temperature: 1,
        messages,
      });
      const { status, error } = await chat(`{"${name}":1,${text.slice(1)}`);
      expect([status, error?.code]).toEqual([400, 'invalid_request']);
      expect(error?.param).toBe(name.replace('\\u0065', 'e'));
      expect(await supplierBodies()).toEqual([]);
    },
  );

  test('escaped names are decoded before they are checked', async () => {
    const firstBody = { model: 'local', messages, '\\u0061pi': 1 };
    await chat(firstBody);
    await supplier.clearRequests();
    const body = `{"model":"local","messages":${JSON.stringify(messages)},"\\u0061pi_base":"http://canary"}`;
    expect((await chat(body)).status).toBe(200);
    expect(await supplierBodies()).toEqual([{ ...question, model: 'sim-local' }]);
    const limit = `{"model":"local","messages":${JSON.stringify(messages)},"max_t\\u006fkens":-5}`;
    expect((await chat(limit)).error).toMatchObject({ param: 'max_tokens' });
  });

  test.each([
    'user_config',
    'aws_sts_endpoint',
    'data_sources',
    'model_list',
    'kv_transfer_params',
    'lora_path',
  ])('%s is a steering field and reaches no supplier', async (name) => {
    for (const model of ['local', 'plain', 'listed', 'strict']) {
      expect((await chat({ ...question, model, [name]: { to: 'canary' } })).status).toBe(200);
    }
    expect(JSON.stringify(await supplierBodies())).not.toContain('canary');
  });

  test('steering fields inside metadata reach no supplier, other metadata does', async () => {
    const metadata = { session_id: 'one', api_base: 'canary', API_KEY: 'canary', note: 'kept' };
    expect((await chat({ ...question, metadata })).status).toBe(200);
    expect((await supplierBodies())[0]).toMatchObject({ metadata: { note: 'kept' } });
    expect(JSON.stringify(await supplierBodies())).not.toContain('canary');
  });

  test.each([
    ['local', { top_k: 5, min_p: 0.1, guided_json: {}, chat_template_kwargs: { enable_thinking: false } }],
    ['plain', { thinking: { type: 'disabled' } }],
    ['listed', { beam_width: 3 }],
    ['strict', { a_field_of_tomorrow: true }],
  ])('%s receives %j', async (model, more) => {
    await chat({ ...question, ...more, model });
    expect((await supplierBodies())[0]).toMatchObject(more);
  });

  test.each([
    ['local', 'beam_width'],
    ['plain', 'top_k'],
    ['listed', 'a_field_of_tomorrow'],
  ])('%s does not receive %s, which is dropped and named', async (model, name) => {
    const answer = await post({ ...question, model, [name]: 3 });
    expect([answer.status, answer.headers.get('x-svc-dropped')]).toEqual([200, name]);
    expect((await supplierBodies())[0]).not.toHaveProperty(name);
  });

  test.each([
    ['/v1/chat/completions', question, 'max_output_tokens'],
    ['/v1/chat/completions', { ...question, model: 'strict' }, 'best_of'],
    ['/v1/messages', { model: 'sim-small', max_tokens: 5, messages }, 'max_completion_tokens'],
    ['/v1/embeddings', { model: 'sim-embed', input: 'Hello' }, 'n'],
  ])('%s %j rejects %s, which is a limit of other routes', async (path, body, name) => {
    const { error } = await send(path, { ...body, [name]: 5 });
    expect(error).toMatchObject({ code: 'unsupported_parameter', param: name });
    expect(await supplierBodies()).toEqual([]);
  });

  // "Failover is lost for Claude Code's default (auto) mode. […] removes every lane of the caller's own
  // dialect that "may not get" an unknown field." Wanted: "The field is left out on that lane and named in x-svc-dropped".
  test('no lane is skipped for an unknown field', async () => {
    const answer = await post({ ...question, model: 'either', top_k: 3 });
    expect([answer.status, answer.headers.get('x-svc-dropped')]).toEqual([200, 'top_k']);
    expect(await supplierBodies()).toEqual([{ ...question, model: 'sim-plain' }]);
  });

  test('sandbox reviews tool calls if safeguards requests it', async () => {
    const safeguards = [{ type: 'dangerous_tool_use', classifier_context: { v: 1 } }];
    const body = { model: 'sim-small', max_tokens: 50, messages, safeguards };
    expect(await (await post(body, '/v1/messages')).json()).toMatchObject({
      safeguard_results: [{ type: 'dangerous_tool_use', status: { type: 'available', tool_uses: {} } }],
    });
    const stream = await post({ ...body, stream: true }, '/v1/messages');
    expect(await stream.text()).toContain('safeguard_results');
  });

  test('structured-output field that no lane enforces is rejected by name without a supplier call', async () => {
    expect(
      (await chat({ ...question, model: 'plain', guided_json: { type: 'object' } })).error,
    ).toMatchObject({
      code: 'unsupported_parameter',
      param: 'guided_json',
    });
    expect(await supplierBodies()).toEqual([]);
    await chat({ ...question, model: 'either', guided_json: { type: 'object' } });
    expect((await supplierBodies()).map(({ model }) => model)).toEqual(['sim-local']);
  });

  test.each([
    ['local', { max_completion_tokens: 1, max_tokens: 1_000 }, { max_completion_tokens: 1 }],
    ['plain', { max_completion_tokens: 1, max_tokens: 1_000 }, { max_tokens: 1 }],
    ['strict', { max_completion_tokens: 1, max_tokens: 1_000 }, { max_completion_tokens: 1 }],
    ['strict', { max_completion_tokens: null, max_tokens: 7 }, { max_completion_tokens: 7 }],
    ['local', { max_tokens: 7, max_completion_tokens: null }, { max_tokens: 7 }],
    ['plain', { max_completion_tokens: 7, max_tokens: null }, { max_tokens: 7 }],
  ])('%s converts the limits %j to %j, the amount held', async (model, limits, expected) => {
    expect((await chat({ ...question, ...limits, model })).status).toBe(200);
    const [{ max_tokens, max_completion_tokens } = {}] = await supplierBodies();
    expect({ max_tokens, max_completion_tokens }).toEqual({
      max_tokens: undefined,
      max_completion_tokens: undefined,
      ...expected,
    });
  });

  test('body with more than 50,000 names is rejected, and one with 49,000 is served', async () => {
    const bodyWithNames = (count: number): object => ({
      ...question,
      model: 'strict',
      tools: [
        {
          type: 'function',
          function: {
            name: 'f',
            parameters: {
              type: 'object',
              properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, {}])),
            },
          },
        },
      ],
    });
    expect((await chat(bodyWithNames(49_000))).status).toBe(200);
    expect((await chat(bodyWithNames(50_001))).error).toMatchObject({ code: 'invalid_json' });
    const manyFields = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}`, 1]));
    expect((await chat({ ...question, ...manyFields })).error).toMatchObject({ code: 'invalid_request' });
  });

  test.each([
    [
      [
        ['model', 'whisper'],
        ['Model', 'x'],
      ],
      'Model',
    ],
    [
      [
        ['model', 'whisper'],
        ['STREAM', 'true'],
      ],
      'STREAM',
    ],
    [
      [
        ['model', 'whisper'],
        ['api_base', 'canary'],
        ['stream', 'True'],
      ],
      'stream',
    ],
    [
      [
        ['model', 'whisper'],
        ['model', 'x'],
      ],
      'model',
    ],
  ] as const)('transcription form is rejected: %j', async (fields, param) => {
    const form = new FormData();
    for (const [name, value] of fields) form.append(name, value);
    form.append(
      'file',
      new Blob([Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt '), Buffer.alloc(64)])]),
      'a.wav',
    );
    const answer = await fetch(`${app.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}` },
      body: form,
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { param } });
  });
});
