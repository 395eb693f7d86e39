import { closeFixture, openFixture, post, supplier } from '../gateway-fixture';

describe('Field validation per route', () => {
  beforeAll(openFixture);
  afterAll(closeFixture);
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());

  const validBodies = {
    '/v1/chat/completions': { model: 'sim-small', messages: [{ role: 'user', content: 'Hi' }] },
    '/v1/messages': { model: 'sim-small', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
    '/v1/responses': { model: 'sim-small', input: 'Hi' },
    '/v1/audio/speech': { model: 'sim-speech', input: 'Hi' },
    '/v1/images/generations': { model: 'sim-image', prompt: 'Hi' },
    '/v1/moderations': { model: 'sim-moderation', input: 'Hi' },
  } as const;
  type ValidatedPath = keyof typeof validBodies;

  test.each<[ValidatedPath, object, string]>([
    ['/v1/chat/completions', { temperature: 2.01 }, 'temperature'],
    ['/v1/chat/completions', { top_p: '1' }, 'top_p'],
    ['/v1/chat/completions', { n: 1.5 }, 'n'],
    ['/v1/chat/completions', { max_tokens: '12' }, 'max_tokens'],
    ['/v1/chat/completions', { max_completion_tokens: 0 }, 'max_completion_tokens'],
    ['/v1/chat/completions', { stream_options: { include_usage: true } }, 'stream_options'],
    ['/v1/messages', { temperature: 1.5 }, 'temperature'],
    ['/v1/messages', { max_tokens: -1 }, 'max_tokens'],
    ['/v1/responses', { top_p: 1.5 }, 'top_p'],
    ['/v1/responses', { max_output_tokens: 'all' }, 'max_output_tokens'],
    ['/v1/audio/speech', { input: 'x'.repeat(4_097) }, 'input'],
    ['/v1/audio/speech', { input: ['Hi'] }, 'input'],
    ['/v1/audio/speech', { speed: 5 }, 'speed'],
    ['/v1/audio/speech', { response_format: 'midi' }, 'response_format'],
    ['/v1/audio/speech', { voice: 5 }, 'voice'],
    ['/v1/audio/speech', { stream_format: 'sse' }, 'stream_format'],
    ['/v1/images/generations', { prompt: '' }, 'prompt'],
    ['/v1/images/generations', { prompt: 'x'.repeat(32_001) }, 'prompt'],
    ['/v1/images/generations', { n: 11 }, 'n'],
    ['/v1/images/generations', { stream: true }, 'stream'],
    ['/v1/moderations', { input: '' }, 'input'],
    ['/v1/moderations', { input: [] }, 'input'],
    ['/v1/moderations', { input: [5] }, 'input[0]'],
  ])('%s rejects %j and names the field', async (path, wrong, param) => {
    const answer = await post(path, { ...validBodies[path], ...wrong });
    expect(answer.status).toBe(400);
    const { error } = (await answer.json()) as { error: { param: string; message: string } };
    expect(error.param).toBe(param);
    expect(error.message).toContain(param);
    expect(await supplier.requests()).toEqual([]);
  });

  test.each<[ValidatedPath, object]>([
    ['/v1/chat/completions', { temperature: 2, top_p: null, stream_options: null, n: null }],
    ['/v1/messages', { temperature: 1, top_p: 1 }],
    ['/v1/responses', { temperature: 2, top_p: 0.5 }],
    ['/v1/audio/speech', { input: 'x'.repeat(4_096), speed: 0.25, voice: 'nova', response_format: 'flac' }],
    ['/v1/images/generations', { n: 2 }],
    ['/v1/moderations', { input: ['a', 'b'] }],
  ])('%s accepts %j', async (path, right) => {
    expect((await post(path, { ...validBodies[path], ...right })).status).toBe(200);
  });

  test("speech is passed on with the supplier's content type, unless it is an HTML page", async () => {
    const headers = { 'content-type': 'application/octet-stream' };
    await supplier.addFault({ times: 1, fault: { kind: 'status', status: 200, body: 'sound', headers } });
    const audioResponse = await post('/v1/audio/speech', validBodies['/v1/audio/speech']);
    expect(audioResponse.headers.get('content-type')).toBe('application/octet-stream');
    expect(await audioResponse.text()).toBe('sound');
    await supplier.addFault({ times: 1, fault: { kind: 'non-json' } });
    const pageResponse = await post('/v1/audio/speech', validBodies['/v1/audio/speech']);
    expect(pageResponse.status).toBe(502);
    expect(await pageResponse.json()).toMatchObject({ error: { code: 'non_json_provider_response' } });
  });
});
