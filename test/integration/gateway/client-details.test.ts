import { app, closeFixture, openFixture, post, supplier } from './gateway-fixture';
import { TestCatalogue } from './test-catalogue';
import { Limits } from '#product/billing';
import { addCustomer } from '../../support/customer';
import { until } from '../../support/until';

const hello = { role: 'user', content: 'Hello' };

describe('Details that clients expect', () => {
  beforeAll(async () => {
    await openFixture();
    const catalogue = new TestCatalogue(app);
    for (const [name, style, kind] of [
      ['on-chat', 'openai-style', 'bearer'],
      ['on-messages', 'messages-style', 'header'],
    ] as const) {
      const credentials = [{ label: 'test', kind, secret: 'sim-test' }];
      await catalogue.provider({ name, style, baseUrl: supplier.url, credentials });
      await catalogue.model(name, [{ provider: name }]);
    }
  });
  beforeEach(() => supplier.clearRequests());
  afterAll(closeFixture);

  const lastSupplierBody = async (): Promise<string> =>
    JSON.stringify((await supplier.requests()).at(-1)?.body ?? null);

  test.each([false, true])(
    'messages response has request-id equal to x-request-id, stream %p',
    async (stream) => {
      const answer = await post('/v1/messages', {
        model: 'on-chat',
        max_tokens: 50,
        messages: [hello],
        stream,
      });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
      await answer.text();
    },
  );

  test("Anthropic's billing header line is sent to Anthropic-style lanes only", async () => {
    const line = 'x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=36ee5;';
    const system = [
      { type: 'text', text: line },
      { type: 'text', text: 'You are an agent.' },
    ];
    const body = { max_tokens: 50, messages: [hello] };
    const ownVendor = await post('/v1/messages', { model: 'on-messages', ...body, system });
    expect([ownVendor.status, (await lastSupplierBody()).includes('cch=36ee5')]).toEqual([200, true]);
    const otherVendor = await post('/v1/messages', { model: 'on-chat', ...body, system });
    expect([otherVendor.status, otherVendor.headers.get('x-svc-dropped')]).toEqual([
      200,
      'x-anthropic-billing-header',
    ]);
    expect(await lastSupplierBody()).not.toContain('cch=');
    expect(await lastSupplierBody()).toContain('You are an agent.');
    await post('/v1/messages', { model: 'on-chat', ...body, system: `${line}\nYou are another.` });
    expect(await lastSupplierBody()).toContain('"You are another."');
  });

  test('top_logprobs without logprobs is dropped and named', async () => {
    const answer = await post('/v1/responses', { model: 'on-chat', input: 'Hello', top_logprobs: 3 });
    expect([answer.status, answer.headers.get('x-svc-dropped')]).toEqual([200, 'top_logprobs']);
    expect(await lastSupplierBody()).not.toContain('top_logprobs');
  });

  test.each([false, true])('converted response echoes the request fields, stream %p', async (stream) => {
    const requestFields = {
      instructions: 'Be brief.',
      max_output_tokens: 77,
      metadata: { ticket: '42' },
      temperature: 0.3,
      reasoning: { effort: 'low' },
      tools: [
        { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false },
      ],
      parallel_tool_calls: false,
      user: 'someone',
    };
    const answer = await post('/v1/responses', {
      model: 'on-chat',
      input: 'Hello',
      ...requestFields,
      stream,
    });
    const text = await answer.text();
    const body = (
      stream
        ? (JSON.parse(/event: response\.completed\ndata: (.*)/.exec(text)![1]!) as { response: object })
            .response
        : JSON.parse(text)
    ) as { reasoning: object; [name: string]: unknown };
    expect(body).toMatchObject(requestFields);
    expect(body.reasoning).toEqual({ effort: 'low', summary: null });
    expect(body.truncation).toBe('disabled');
  });

  test('stored response can be read as a stream from any event', async () => {
    const storedResponse = (await (
      await post('/v1/responses', { model: 'on-chat', input: 'Hello' })
    ).json()) as {
      id: string;
      output: { content: { text: string }[] }[];
    };
    const readEvents = async (
      query: string,
    ): Promise<{ type: string; delta?: string; response?: object }[]> => {
      const headers = { authorization: `Bearer ${app.firstKeys?.demo}` };
      const answer = await fetch(`${app.url}/v1/responses/${storedResponse.id}?${query}`, { headers });
      expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
      const lines = (await answer.text()).split('\n').filter((line) => line.startsWith('data: '));
      return lines.map((line) => JSON.parse(line.slice(6)) as { type: string });
    };
    const events = await readEvents('stream=true');
    expect(events[0]?.type).toBe('response.created');
    expect(events.map(({ delta }) => delta ?? '').join('')).toBe(storedResponse.output[0]?.content[0]?.text);
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: storedResponse });
    expect(await readEvents('stream=true&starting_after=1')).toEqual(events.slice(2));
  });

  test('usage appears in chunks only if the caller requested it', async () => {
    const body = { model: 'on-chat', messages: [hello], max_tokens: 50, stream: true };
    expect(await (await post('/v1/chat/completions', body)).text()).not.toContain('"usage"');
    const bodyWithUsage = { ...body, stream_options: { include_usage: true } };
    expect(await (await post('/v1/chat/completions', bodyWithUsage)).text()).toContain('"usage":{');
  });

  test('refusal of an unused key states the possible cost, not an exhausted budget', async () => {
    const { key, keyId } = await addCustomer(app, 'untouched', 1_000_000_000n);
    const limits = app.application.get(Limits, { strict: false });
    await app.database.transaction((tx) =>
      limits.set(tx, { kind: 'key', id: keyId }, { period: 'daily', limit: 1_000_000n }),
    );
    const body = { model: 'on-chat', messages: [hello], max_tokens: 8_000 };
    const answer = await post('/v1/chat/completions', body, key);
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    expect([answer.status, error.code]).toEqual([402, 'budget_exceeded']);
    expect(error.message).toMatch(
      /may cost up to \$0\.\d+, and \$0\.\d+ of the budget of this API key is left/,
    );
  });

  test('refusal names the owner of the exhausted budget', async () => {
    const { key, keyId, userId } = await addCustomer(app, 'spender', 1_000_000_000n);
    const limits = app.application.get(Limits, { strict: false });
    const readRefusal = async (): Promise<{ status: number; human_message?: string }> => {
      const answer = await post('/v1/chat/completions', { model: 'on-chat', messages: [hello] }, key);
      const { error } = (await answer.json()) as { error: object };
      return { status: answer.status, ...error };
    };
    const exhaustBudget = (kind: 'user' | 'key', id: number) =>
      app.database.transaction((tx) => limits.set(tx, { kind, id }, { period: 'monthly', limit: 0n }));
    await exhaustBudget('user', userId);
    expect(await readRefusal()).toMatchObject({
      status: 402,
      code: 'budget_exceeded',
      human_message: expect.stringContaining('budget of the person to whom this API key belongs is used up'),
    });
    await app.database.transaction((tx) => limits.remove(tx, { kind: 'user', id: userId }));
    await exhaustBudget('key', keyId);
    // Nodes learn of the removed budget by an announcement.
    await until(async () => !(await readRefusal()).human_message?.includes('budget of the person'));
    expect(await readRefusal()).toMatchObject({
      status: 402,
      human_message: expect.stringContaining('budget of this API key is used up'),
    });
  });
});
