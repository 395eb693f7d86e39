import { app, closeHouse, openHouse, recordOf, supplier } from './gateway-house';

describe('a chat request', () => {
  let key: string;

  beforeAll(async () => {
    await openHouse();
    key = app.firstKeys?.demo ?? '';
  });
  afterAll(closeHouse);
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

  test('is answered with the supplier’s bytes, the account in headers, and a record', async () => {
    const answer = await chat({});
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
    expect(answer.headers.get('x-svc-supplier')).toBe('sandbox');
    expect(answer.headers.get('x-svc-region')).toBe('local');
    expect(answer.headers.get('x-svc-failover')).toBe('false');
    expect(answer.headers.get('x-svc-input-tokens')).toBe(String(body.usage.prompt_tokens));
    expect(answer.headers.get('x-svc-output-tokens')).toBe('12');
    // 0.15 dollars a million tokens in, 0.60 out.
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

  test.each([{ stream: false }, { stream: true }])('says on record what went no further: %p', async (how) => {
    const answer = await chat({ ...how, api_base: 'https://elsewhere.example', fallbacks: ['other'] });
    await answer.text();
    expect(await recordOf(answer)).toMatchObject({ status: 200, dropped: { api_base: 1, fallbacks: 1 } });
  });

  test('is streamed byte for byte, and on record before its end', async () => {
    const answer = await chat({ stream: true, stream_options: { include_usage: true } });
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const text = await answer.text();
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(await recordOf(answer)).toMatchObject({ output_tokens: 12, stream: true, status: 200 });
  });

  test('that breaks off in the middle ends with an error in the stream and no terminator', async () => {
    await supplier.addFault({ fault: { kind: 'cut', after: 4 } });
    const answer = await chat({ stream: true });
    const text = await answer.text();
    expect(text).not.toContain('[DONE]');
    const last = text.trim().split('\n\n').at(-1) ?? '';
    expect(JSON.parse(last.replace('data: ', ''))).toMatchObject({ error: { type: 'api_error' } });
    const record = await recordOf(answer);
    expect(record).toMatchObject({ stream: true });
    expect(record?.code).not.toBeNull();
  });

  test('tells the caller’s mistakes from the supplier’s', async () => {
    await supplier.addFault({ fault: { kind: 'status', status: 401 } });
    const ours = await chat({});
    expect(ours.status).toBe(503);
    expect(await ours.json()).toMatchObject({ error: { code: 'provider_unavailable' } });
    await supplier.clearFaults();
    const theirs = await chat({ messages: [{ role: 'nobody', content: 'x' }] });
    expect(theirs.status).toBe(400);
    const body = (await theirs.json()) as {
      error: { code: string; details: { supplier: { message: string } } };
    };
    expect(body.error.code).toBe('invalid_value');
    expect(body.error.details.supplier.message).toEqual(expect.any(String));
  });
});
