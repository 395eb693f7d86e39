import { startSimulator, type Simulator } from '../../support/simulator';
import { call, jsonOf, messagesHeaders, openaiHeaders, type RawResponse } from './client';

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

function post(path: string, body: unknown, headers?: Record<string, string>): Promise<RawResponse> {
  return call(`${simulator.url}${path}`, body, headers ? { headers } : {});
}

interface EmbeddingsResult<Vector> {
  data: { index: number; embedding: Vector }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

test('embeddings return the same unit vectors as floats and as base64', async () => {
  const body = { model: 'sim-embed', input: ['one', 'two two'] };
  const floats = jsonOf<EmbeddingsResult<number[]>>(await post('/v1/embeddings', body));
  const encoded = jsonOf<EmbeddingsResult<string>>(
    await post('/v1/embeddings', { ...body, encoding_format: 'base64' }),
  );
  const decoded = encoded.data.map(({ embedding }) => {
    const bytes = Buffer.from(embedding, 'base64');
    return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
  });
  expect(floats.data.map(({ embedding }) => embedding)).toEqual(decoded);
  expect(decoded.map((vector) => vector.length)).toEqual([256, 256]);
  expect(Math.hypot(...(decoded[0] ?? []))).toBeCloseTo(1, 5);
  expect(decoded[0]).not.toEqual(decoded[1]);
  expect(floats.usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
});

test('embeddings support float-only models, dimensions and token lists, and refuse empty or too long input', async () => {
  const floatsOnly = await post('/v1/embeddings', {
    model: 'sim-embed-floats',
    input: 'one',
    encoding_format: 'base64',
    dimensions: 8,
  });
  expect(jsonOf<EmbeddingsResult<number[]>>(floatsOnly).data[0]?.embedding).toHaveLength(8);
  const tokenInput = await post('/v1/embeddings', { model: 'sim-embed', input: [[1, 2, 3], [4]] });
  expect(jsonOf<EmbeddingsResult<number[]>>(tokenInput).usage.prompt_tokens).toBe(4);
  expect((await post('/v1/embeddings', { model: 'sim-embed', input: [''] })).status).toBe(400);
  expect((await post('/v1/embeddings', { model: 'sim-embed', input: 'x'.repeat(4 * 8193) })).status).toBe(
    400,
  );
});

interface RerankResult {
  results: { index: number; relevance_score: number; document?: { text: string } }[];
  meta: { api_version: { version: string }; billed_units: { search_units: number } };
}

test('rerank sorts by score, applies top_n and returns documents only in version 1', async () => {
  const body = {
    model: 'sim-rerank',
    query: 'capital of France',
    documents: ['Berlin is in Germany', 'Paris is the capital of France', 'France has a coast'],
  };
  const first = jsonOf<RerankResult>(await post('/v1/rerank', { ...body, return_documents: true }));
  const second = jsonOf<RerankResult>(await post('/v2/rerank', { ...body, top_n: 2 }));
  const scores = first.results.map(({ relevance_score }) => relevance_score);
  expect(first.results.map(({ index }) => index)).toEqual([1, 2, 0]);
  expect(scores).toEqual([...scores].sort((left, right) => right - left));
  expect(first.results[0]?.document?.text).toBe(body.documents[1]);
  expect(second.results.map(({ index, document }) => ({ index, document }))).toEqual([
    { index: 1, document: undefined },
    { index: 2, document: undefined },
  ]);
  expect(second.meta).toMatchObject({ api_version: { version: '2' }, billed_units: { search_units: 1 } });
  expect((await post('/v2/rerank', { ...body, documents: [] })).status).toBe(400);
});

test('speech returns audio in the requested format', async () => {
  const body = { model: 'sim-speech', input: 'hello', voice: 'alloy' };
  const wav = await post('/v1/audio/speech', { ...body, response_format: 'wav' });
  const mp3 = await post('/v1/audio/speech', body);
  expect([wav.headers['content-type'], mp3.headers['content-type']]).toEqual(['audio/wav', 'audio/mpeg']);
  expect(wav.bytes.toString('latin1', 0, 4)).toBe('RIFF');
  expect(wav.bytes.readUInt32LE(4)).toBe(wav.bytes.length - 8);
  expect(mp3.bytes.readUInt16BE(0)).toBe(0xfffb);
  expect((await post('/v1/audio/speech', { ...body, input: 'x'.repeat(4097) })).status).toBe(400);
  expect((await post('/v1/audio/speech', { ...body, speed: 5 })).status).toBe(400);
});

function form(order: readonly ('file' | 'model' | 'language' | 'response_format')[], bytes: Buffer): Buffer {
  const values = { model: 'sim-transcribe', language: 'de', response_format: 'verbose_json' };
  const parts = order.flatMap((name) => {
    const disposition = `--edge\r\ncontent-disposition: form-data; name="${name}"`;
    const [head, body] =
      name === 'file'
        ? [`${disposition}; filename="größe.wav"`, bytes]
        : [disposition, Buffer.from(values[name])];
    return [Buffer.from(`${head}\r\n\r\n`), body, Buffer.from('\r\n')];
  });
  return Buffer.concat([...parts, Buffer.from('--edge--\r\n')]);
}

test('transcription returns the same text whether the file is first or last, and reads its duration', async () => {
  const speech = await post('/v1/audio/speech', {
    model: 'sim-speech',
    input: 'hello',
    voice: 'alloy',
    response_format: 'wav',
  });
  const headers = { ...openaiHeaders, 'content-type': 'multipart/form-data; boundary=edge' };
  const path = '/v1/audio/transcriptions';
  const fileLast = await post(
    path,
    form(['model', 'language', 'response_format', 'file'], speech.bytes),
    headers,
  );
  const fileFirst = await post(
    path,
    form(['file', 'model', 'language', 'response_format'], speech.bytes),
    headers,
  );
  expect(jsonOf<object>(fileFirst)).toMatchObject({ task: 'transcribe', language: 'de', duration: 0.1 });
  expect(fileFirst.bytes.equals(fileLast.bytes)).toBe(true);
  const translation = await post('/v1/audio/translations', form(['file', 'model'], speech.bytes), headers);
  expect(jsonOf<{ text: string }>(translation).text).toBe(jsonOf<{ text: string }>(fileFirst).text);
  expect((await post(path, form(['model'], speech.bytes), headers)).status).toBe(400);
  expect((await post(path, form(['file', 'model'], Buffer.alloc(26 * 1024 * 1024)), headers)).status).toBe(
    413,
  );
  expect((await post(path, 'no form', headers)).status).toBe(400);
});

test('moderation flags input with the flag directive', async () => {
  const answer = jsonOf<{ results: { flagged: boolean; categories: Record<string, boolean> }[] }>(
    await post('/v1/moderations', { input: ['fine', 'bad [[flag]]'] }),
  );
  expect(answer.results.map(({ flagged }) => flagged)).toEqual([false, true]);
  expect(answer.results[1]?.categories['violence']).toBe(true);
});

test('images are small valid PNG files', async () => {
  const answer = jsonOf<{ data: { b64_json: string }[]; usage: { output_tokens: number } }>(
    await post('/v1/images/generations', { model: 'sim-image', prompt: 'a fox', n: 2 }),
  );
  const images = answer.data.map(({ b64_json }) => Buffer.from(b64_json, 'base64'));
  expect(images.map((picture) => picture.toString('latin1', 1, 4))).toEqual(['PNG', 'PNG']);
  expect(answer.usage.output_tokens).toBe(544);
});

test('models are listed in the format of the API in use', async () => {
  const get = (path: string, headers: Record<string, string>): Promise<RawResponse> =>
    call(`${simulator.url}${path}`, undefined, { method: 'GET', headers });
  const openaiList = jsonOf<{ object: string; data: { id: string }[] }>(
    await get('/v1/models', openaiHeaders),
  );
  const messages = jsonOf<{ has_more: boolean; first_id: string; data: { type: string }[] }>(
    await get('/v1/models?limit=100', messagesHeaders),
  );
  expect(openaiList.object).toBe('list');
  expect(messages).toMatchObject({ has_more: false, first_id: openaiList.data[0]?.id });
  expect(messages.data[0]?.type).toBe('model');
  expect(jsonOf<object>(await get('/v1/models/sim-8k', openaiHeaders))).toMatchObject({ id: 'sim-8k' });
  expect((await get('/v1/models/other', openaiHeaders)).status).toBe(404);
});

test('vendor models are listed with their capabilities page by page, and an alias returns its model', async () => {
  const get = async (path: string): Promise<RawResponse> =>
    call(`${simulator.url}${path}`, undefined, { method: 'GET', headers: messagesHeaders });
  interface VendorModelPage {
    readonly data: { id: string; max_input_tokens: number; capabilities: unknown }[];
    readonly has_more: boolean;
    readonly last_id: string | null;
  }
  const ids: string[] = [];
  let cursor = '';
  for (let more = true; more;) {
    const page = jsonOf<VendorModelPage>(await get(`/v1/models?limit=7${cursor}`));
    ids.push(...page.data.map(({ id }) => id));
    cursor = `&after_id=${page.last_id ?? ''}`;
    more = page.has_more;
  }
  const fullList = jsonOf<VendorModelPage>(await get('/v1/models?limit=1000'));
  expect(ids).toEqual(fullList.data.map(({ id }) => id));
  expect(jsonOf<VendorModelPage>(await get('/v1/models')).data).toHaveLength(20);
  const pageBefore = jsonOf<VendorModelPage>(await get(`/v1/models?limit=2&before_id=${ids[3] ?? ''}`));
  expect([pageBefore.data.map(({ id }) => id), pageBefore.has_more]).toEqual([ids.slice(1, 3), true]);
  expect(ids).not.toContain('claude-sonnet-4-5');
  const aliasedModel = jsonOf<VendorModelPage['data'][number]>(await get('/v1/models/claude-sonnet-4-5'));
  expect(aliasedModel).toEqual(fullList.data.find(({ id }) => id === 'claude-sonnet-4-5-20250929'));
  expect(aliasedModel).toMatchObject({
    max_input_tokens: 200_000,
    capabilities: {
      thinking: { supported: true, types: { adaptive: { supported: false }, enabled: { supported: true } } },
      effort: { supported: false, high: { supported: false } },
      structured_outputs: { supported: true },
    },
  });
  for (const invalidQuery of [
    'limit=0',
    'limit=1001',
    'limit=x',
    'after_id=nothing',
    'after_id=a&before_id=b',
  ])
    expect([invalidQuery, (await get(`/v1/models?${invalidQuery}`)).status]).toEqual([invalidQuery, 400]);
});
