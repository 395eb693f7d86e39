import { app, closeFixture, openFixture, recordOf, supplier } from './gateway-fixture';

describe('Chat completions', () => {
  let key: string;

  beforeAll(async () => {
    await openFixture();
    key = app.firstKeys?.demo ?? '';
  });
  afterAll(closeFixture);
  afterEach(() => supplier.clearFaults());

  const chat = (body: object): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-small',
        messages: [{ role: 'user', content: 'Hello [[tokens=12]]' }],
        ...body,
      }),
    });

  test('chat response carries cost headers and leaves a record', async () => {
    const answer = await chat({});
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
    expect(answer.headers.get('x-svc-supplier')).toBe('sandbox');
    expect(answer.headers.get('x-svc-region')).toBe('local');
    expect(answer.headers.get('x-svc-failover')).toBe('false');
    expect(answer.headers.get('x-svc-input-tokens')).toBe(String(body.usage.prompt_tokens));
    expect(answer.headers.get('x-svc-output-tokens')).toBe('12');
    // $0.15 per 1M input tokens, $0.60 per 1M output tokens.
    const nano = Math.ceil(body.usage.prompt_tokens * 150 + 12 * 600);
    expect(await recordOf(answer)).toMatchObject({
      model: 'sim-small',
      supplier: 'sandbox',
      status: 200,
      input_tokens: body.usage.prompt_tokens,
      output_tokens: 12,
      cost_nano: String(nano),
      usage_source: 'supplier',
      finish_reason: 'stop',
      stream: false,
    });
  });

  test.each([{ stream: false }, { stream: true }])('record names the dropped fields: %p', async (how) => {
    const answer = await chat({ ...how, api_base: 'https://elsewhere.example', fallbacks: ['other'] });
    await answer.text();
    expect(await recordOf(answer)).toMatchObject({ status: 200, dropped: { api_base: 1, fallbacks: 1 } });
  });

  test('chat stream ends with [DONE] and is recorded', async () => {
    const answer = await chat({ stream: true, stream_options: { include_usage: true } });
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const text = await answer.text();
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(await recordOf(answer)).toMatchObject({ output_tokens: 12, stream: true, status: 200 });
  });

  test('stream that breaks off ends with an error event and no terminator', async () => {
    await supplier.addFault({ fault: { kind: 'cut', after: 4 } });
    const answer = await chat({ stream: true });
    const text = await answer.text();
    expect(text).not.toContain('[DONE]');
    const lastEvent = text.trim().split('\n\n').at(-1) ?? '';
    expect(JSON.parse(lastEvent.replace('data: ', ''))).toMatchObject({ error: { type: 'api_error' } });
    const record = await recordOf(answer);
    expect(record).toMatchObject({ stream: true });
    expect(record?.code).not.toBeNull();
  });

  test('supplier credential errors return 503, caller errors return 400', async () => {
    await supplier.addFault({ fault: { kind: 'status', status: 401 } });
    const credentialFailure = await chat({});
    expect(credentialFailure.status).toBe(503);
    expect(await credentialFailure.json()).toMatchObject({ error: { code: 'provider_unavailable' } });
    await supplier.clearFaults();
    const callerFailure = await chat({ messages: [{ role: 'nobody', content: 'x' }] });
    expect(callerFailure.status).toBe(400);
    const body = (await callerFailure.json()) as {
      error: { code: string; details: { supplier: { message: string } } };
    };
    expect(body.error.code).toBe('invalid_value');
    expect(body.error.details.supplier.message).toEqual(expect.any(String));
  });
});
