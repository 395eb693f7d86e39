import { closeFixture, openFixture, post, recordOf } from './gateway-fixture';

describe('Non-chat routes of the sandbox', () => {
  beforeAll(openFixture);
  afterAll(closeFixture);

  test('embeddings are returned as numbers or as base64', async () => {
    const answer = await post('/v1/embeddings', { model: 'sim-embed', input: ['one', 'two'] });
    const body = (await answer.json()) as {
      object: string;
      data: { index: number; embedding: number[] }[];
      usage: { prompt_tokens: number; total_tokens: number };
    };
    expect(body).toMatchObject({ object: 'list', data: [{ index: 0 }, { index: 1 }] });
    expect(body.usage.total_tokens).toBe(body.usage.prompt_tokens);
    expect(answer.headers.get('x-svc-supplier')).toBe('sandbox');
    expect(await recordOf(answer)).toMatchObject({
      surface: 'embeddings',
      input_tokens: body.usage.prompt_tokens,
      output_tokens: 0,
      cost_nano: String(body.usage.prompt_tokens * 20),
      usage_source: 'supplier',
    });
    const base64Response = await post('/v1/embeddings', {
      model: 'sim-embed',
      input: 'one',
      encoding_format: 'base64',
    });
    const { data } = (await base64Response.json()) as { data: { embedding: string }[] };
    const bytes = Buffer.from(data[0]?.embedding ?? '', 'base64');
    const floats = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
    expect(floats.length).toBe(body.data[0]?.embedding.length);
    expect(floats[0]).toBeCloseTo(body.data[0]?.embedding[0] ?? NaN, 5);
  });

  test('rerank is charged per call', async () => {
    const documents = ['apples and pears', 'the speed of light', 'pear cake'];
    const answer = await post('/v1/rerank', { model: 'sim-rerank', query: 'pear', documents });
    const { results } = (await answer.json()) as { results: { index: number; relevance_score: number }[] };
    expect(results.map(({ index }) => index).sort()).toEqual([0, 1, 2]);
    const scores = results.map((result) => result.relevance_score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(await recordOf(answer)).toMatchObject({ surface: 'rerank', calls: 1, cost_nano: '2000000' });
  });

  test('speech is charged per character and returned as audio', async () => {
    const answer = await post('/v1/audio/speech', {
      model: 'sim-speech',
      input: 'Hello there',
      response_format: 'wav',
    });
    expect(answer.headers.get('content-type')).toBe('audio/wav');
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(bytes.subarray(0, 4).toString('latin1')).toBe('RIFF');
    expect(await recordOf(answer)).toMatchObject({
      surface: 'speech',
      input_tokens: 11,
      cost_nano: String(11 * 15_000),
    });
  });

  test('images and moderations are charged per call', async () => {
    const image = await post('/v1/images/generations', { model: 'sim-image', prompt: 'a pear' });
    expect(await image.json()).toMatchObject({ data: [{ b64_json: expect.any(String) as string }] });
    expect(await recordOf(image)).toMatchObject({ surface: 'image', calls: 1, cost_nano: '40000000' });
    const moderation = await post('/v1/moderations', { model: 'sim-moderation', input: 'a pear' });
    expect(await moderation.json()).toMatchObject({ results: [{ flagged: false }] });
    expect(await recordOf(moderation)).toMatchObject({ surface: 'moderation', cost_nano: '100000' });
  });

  test('model of another kind returns 404', async () => {
    const answer = await post('/v1/embeddings', { model: 'sim-small', input: 'one' });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: 'model_not_available', param: 'model' } });
  });

  test.each([
    ['/v1/embeddings', { model: 'sim-embed', input: [] }, 'input'],
    ['/v1/embeddings', { input: 'one' }, 'model'],
    ['/v1/rerank', { model: 'sim-rerank', query: 'pear' }, 'documents'],
    ['/v1/audio/speech', { model: 'sim-speech', input: '' }, 'input'],
  ])('%s returns 400 that names the invalid field', async (path, body, param) => {
    const answer = await post(path, body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { param } });
  });
});
