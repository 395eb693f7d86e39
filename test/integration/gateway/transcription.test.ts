import { CatalogueEditor, CatalogueService, PriceService } from '#product/catalogue';
import { parseUsd, parseUsdPerMillion, priceRates, type PriceRates } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { createForgedRecordings } from '../../support/forged-recordings';
import { mp3Of, wavOf } from '../../support/recordings';
import { startSimulator, type Simulator } from '../../support/simulator';

/** Adds a model sold by the token and the default model `whisper`, both on the sandbox's model. */
async function addModels(app: TestApp): Promise<void> {
  const editor = new CatalogueEditor();
  const prices = new PriceService();
  const byToken = priceRates({
    input: parseUsdPerMillion('2.50'),
    output: parseUsdPerMillion('10'),
    audioInput: parseUsdPerMillion('6'),
  });
  const byMinute = priceRates({ perMinuteNano: parseUsd('0.006') });
  await app.database.transaction(async (tx) => {
    const add = async (name: string, rates: PriceRates): Promise<void> => {
      await editor.upsertModel(tx, { name, kind: 'transcription', ownedBy: 'test' });
      await editor.setLanes(tx, name, [
        { provider: 'sandbox', upstreamModel: 'sim-transcribe', region: 'local' },
      ]);
      await prices.addPrice(tx, { model: name, rates, source: 'test' });
    };
    await add('by-token', byToken);
    await add('whisper', byMinute);
  });
  await app.application.get(CatalogueService).reload();
}

const twelveSeconds = wavOf({ seconds: 12 });
/** $0.006 per minute. */
const nanoFor = (milliseconds: number): string => String(milliseconds * 100);

describe('Transcriptions', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
    await addModels(app);
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());

  const send = (
    body: string | Buffer<ArrayBuffer> | FormData,
    headers: Record<string, string> = {},
    path = '/v1/audio/transcriptions',
  ): Promise<Response> =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, ...headers },
      body,
    });
  const formOf = (...fields: (readonly [string, string | Buffer, string?])[]): FormData => {
    const form = new FormData();
    for (const [name, value, fileName] of fields) {
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, new Blob([Uint8Array.from(value)]), fileName ?? 'speech.wav');
    }
    return form;
  };
  const recordOf = async (answer: Response): Promise<Record<string, unknown> | undefined> => {
    const [row] = await app.database.query<Record<string, unknown>>(
      'SELECT * FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    return row;
  };
  const expectError = async (
    answer: Response,
    status: number,
    code: string,
    param?: string,
  ): Promise<void> => {
    expect(answer.status).toBe(status);
    const { error } = (await answer.json()) as { error: { code: string; param?: string } };
    expect(error).toMatchObject({ code, ...(param === undefined ? {} : { param }) });
    expect(await supplier.requests()).toEqual([]);
  };

  test.each([
    ['before', ['model', 'language', 'file']],
    ['after', ['file', 'model', 'language']],
  ])('transcription with the model %s the file is charged by the minute', async (_where, order) => {
    const parts = {
      model: ['model', 'sim-transcribe'],
      language: ['language', 'de'],
      file: ['file', twelveSeconds, 'Grüße 你好.wav'],
    } as const;
    const answer = await send(formOf(...order.map((name) => parts[name as keyof typeof parts])));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toMatchObject({ text: expect.any(String) as string });
    expect(answer.headers.get('x-svc-supplier')).toBe('sandbox');
    expect(answer.headers.get('x-svc-cost-usd')).toBe('0.0012');
    expect(await recordOf(answer)).toMatchObject({
      surface: 'transcription',
      model: 'sim-transcribe',
      audio_milliseconds: 12_000,
      input_tokens: 0,
      cost_nano: nanoFor(12_000),
      usage_source: 'supplier',
    });
    const [supplierRequest] = await supplier.requests();
    expect(supplierRequest).toMatchObject({ path: '/v1/audio/transcriptions', status: 200 });
  });

  test.each(['opus.mp4: a short movie and medium', 'alac.m4a: a short movie and medium'])(
    'recording %s is charged for its complete audible length',
    async (name) => {
      const forgedFile =
        createForgedRecordings().find((recording) => recording.name === name)?.file ?? wavOf({ seconds: 0 });
      const answer = await send(
        formOf(['file', forgedFile, 'speech.m4a'], ['model', 'whisper'], ['response_format', 'text']),
      );
      expect(answer.status).toBe(200);
      const record = await recordOf(answer);
      expect(record).toMatchObject({ usage_source: 'estimated' });
      expect(Number(record?.['audio_milliseconds'])).toBeGreaterThanOrEqual(4_000);
      expect(Number(record?.['audio_milliseconds'])).toBeLessThan(4_200);
    },
  );

  test('file whose tables contradict each other is rejected', async () => {
    const name = 'pcm.wav: a second format';
    const forgedFile =
      createForgedRecordings().find((recording) => recording.name === name)?.file ?? wavOf({ seconds: 0 });
    const answer = await send(formOf(['file', forgedFile], ['model', 'whisper']));
    await expectError(answer, 400, 'invalid_request', 'file');
  });

  test('translations route translates', async () => {
    const form = formOf(
      ['file', twelveSeconds],
      ['model', 'sim-transcribe'],
      ['response_format', 'verbose_json'],
    );
    const answer = await send(form, {}, '/v1/audio/translations');
    expect(await answer.json()).toMatchObject({ task: 'translate', language: 'english', duration: 12 });
    expect(await recordOf(answer)).toMatchObject({ surface: 'translation', cost_nano: nanoFor(12_000) });
  });

  test.each([
    ['text', 'text/plain; charset=utf-8', /^\w/],
    ['srt', 'text/plain; charset=utf-8', /^1\n00:00:00,000 --> 00:00:12,000\n/],
    ['vtt', 'text/plain; charset=utf-8', /^WEBVTT\n/],
  ])(
    '%s format is passed through as the supplier wrote it and charged by the file',
    async (format, type, text) => {
      const answer = await send(
        formOf(['file', twelveSeconds], ['model', 'sim-transcribe'], ['response_format', format]),
      );
      expect(answer.headers.get('content-type')).toBe(type);
      expect(await answer.text()).toMatch(text);
      expect(await recordOf(answer)).toMatchObject({ audio_milliseconds: 12_000, usage_source: 'estimated' });
    },
  );

  test('transcription without a usage report is charged by the file', async () => {
    await supplier.addFault({ fault: { kind: 'wrong-usage', variant: 'absent' } });
    const answer = await send(formOf(['file', mp3Of({ frames: 400 }), 'a.mp3'], ['model', 'sim-transcribe']));
    expect(answer.status).toBe(200);
    const record = await recordOf(answer);
    // 400 frames of 1,152 samples.
    expect(record).toMatchObject({ audio_milliseconds: 10_449, usage_source: 'estimated' });
    expect(record?.cost_nano).toBe(nanoFor(10_449));
  });

  test.each(['negative', 'absurd', 'nan'] as const)(
    'transcription with a %s usage report is charged by the file',
    async (variant) => {
      await supplier.addFault({ fault: { kind: 'wrong-usage', variant } });
      const answer = await send(formOf(['file', twelveSeconds], ['model', 'sim-transcribe']));
      expect(answer.status).toBe(200);
      expect(await recordOf(answer)).toMatchObject({ audio_milliseconds: 12_000, usage_source: 'estimated' });
    },
  );

  test('model sold by the token is charged by the reported tokens', async () => {
    const usage = {
      type: 'tokens',
      input_tokens: 150,
      input_token_details: { text_tokens: 30, audio_tokens: 120 },
      output_tokens: 40,
      total_tokens: 190,
    };
    await supplier.addFault({ fault: { kind: 'status', status: 200, body: { text: 'Hello', usage } } });
    const answer = await send(formOf(['file', twelveSeconds], ['model', 'by-token']));
    expect(await answer.json()).toEqual({ text: 'Hello', usage });
    expect(await recordOf(answer)).toMatchObject({
      input_tokens: 30,
      audio_input_tokens: 120,
      output_tokens: 40,
      cost_nano: String(30 * 2_500 + 120 * 6_000 + 40 * 10_000),
      usage_source: 'supplier',
    });
  });

  test('model sold by the token is never free if the supplier reports seconds', async () => {
    const answer = await send(formOf(['file', twelveSeconds], ['model', 'by-token']));
    const record = await recordOf(answer);
    expect(record).toMatchObject({ audio_milliseconds: 12_000, usage_source: 'estimated' });
    expect(Number(record?.cost_nano)).toBeGreaterThan(100 * 2_500);
  });

  test('transcription without a model uses whisper', async () => {
    const answer = await send(formOf(['file', twelveSeconds]));
    expect(await recordOf(answer)).toMatchObject({ model: 'whisper', cost_nano: nanoFor(12_000) });
  });

  test('transcription is replayed by idempotency key, whatever its boundary', async () => {
    const sendRequest = (): Promise<Response> =>
      send(formOf(['file', twelveSeconds], ['model', 'sim-transcribe']), { 'idempotency-key': 'said-once' });
    const first = await sendRequest();
    expect(first.status).toBe(200);
    const replay = await sendRequest();
    expect(replay.status).toBe(200);
    expect(await replay.text()).toBe(await first.text());
    expect(await supplier.requests()).toHaveLength(1);
  });

  test('file of the maximum size is accepted', async () => {
    const largestFile = Buffer.concat([mp3Of({ frames: 4 }), Buffer.alloc(25 * 1024 * 1024 - 4 * 417)]);
    const answer = await send(formOf(['file', largestFile, 'long.mp3'], ['model', 'sim-transcribe']));
    expect(answer.status).toBe(200);
  });

  describe('Rejected transcriptions', () => {
    const file = ['file', twelveSeconds] as const;
    const model = ['model', 'sim-transcribe'] as const;

    test.each([
      ['json', 'application/json', JSON.stringify({ model: 'sim-transcribe' })],
      ['a bare recording', 'audio/wav', Buffer.from('RIFF')],
      ['bytes', 'application/octet-stream', Buffer.from('RIFF')],
      ['another kind of parts', 'multipart/mixed; boundary=x', '--x--'],
    ])('%s returns 415', async (_what, type, body) => {
      await expectError(await send(body, { 'content-type': type }), 415, 'unsupported_media_type');
    });

    test('form on a JSON route returns 415', async () => {
      await expectError(
        await send(formOf(file, ['model', 'sim-small']), {}, '/v1/chat/completions'),
        415,
        'unsupported_media_type',
      );
    });

    test('file above the maximum size returns 413', async () => {
      const largeForm = formOf(['file', Buffer.alloc(25 * 1024 * 1024 + 1)], model);
      await expectError(await send(largeForm), 413, 'request_too_large', 'file');
    });

    test('file that is not a recording returns 415, whatever its name', async () => {
      const fakeForm = formOf(['file', Buffer.from('<!doctype html>'), 'speech.wav'], model);
      await expectError(await send(fakeForm), 415, 'unsupported_media_type', 'file');
    });

    test.each([
      ['no file', [model], 'file'],
      ['an empty file', [['file', Buffer.alloc(0)], model], 'file'],
      ['a text for a file', [['file', 'speech.wav'], model], 'file'],
      ['two files', [file, file, model], 'file'],
      ['a file elsewhere', [file, ['prompt', twelveSeconds], model], 'prompt'],
      ['two models', [file, model, model], 'model'],
      ['a stream', [file, model, ['stream', 'true']], 'stream'],
      ['an unknown format', [file, model, ['response_format', 'xml']], 'response_format'],
      ['heat', [file, model, ['temperature', '2']], 'temperature'],
      ['a polluting name', [file, model, ['__proto__[polluted]', 'x']], '__proto__[polluted]'],
      ['a nested name', [file, model, ['metadata[a][b]', 'x']], 'metadata[a][b]'],
    ] as const)('%s returns 400 that names the field', async (_what, fields, param) => {
      const answer = await send(formOf(...fields));
      expect(answer.status).toBe(400);
      const { error } = (await answer.json()) as { error: { param: string } };
      expect(error.param).toBe(param);
      expect(Reflect.get({}, 'polluted')).toBeUndefined();
      expect(await supplier.requests()).toEqual([]);
    });

    test('missing model returns 400 on a route without a default model', async () => {
      const answer = await send(formOf(file), {}, '/v1/audio/translations');
      await expectError(answer, 400, 'missing_model', 'model');
    });

    test('form with a thousand fields returns 400', async () => {
      const largeForm = formOf(...Array.from({ length: 1_000 }, (_, index) => [`f${index}`, 'x'] as const));
      await expectError(await send(largeForm), 400, 'invalid_request');
    });

    test('truncated form returns 400', async () => {
      const text = '--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nsim';
      await expectError(
        await send(text, { 'content-type': 'multipart/form-data; boundary=x' }),
        400,
        'invalid_request',
      );
    });
  });
});
