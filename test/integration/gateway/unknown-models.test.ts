import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { TestCatalogue } from './test-catalogue';

type Json = Record<string, unknown>;

const chatTools = [{ type: 'function', function: { name: 'act', parameters: { type: 'object' } } }];
const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const answers: Readonly<Record<string, object>> = {
  '/v1/responses': {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'up',
    output: [
      { type: 'message', role: 'assistant', id: 'm', content: [{ type: 'output_text', text: 'Done' }] },
    ],
    usage,
  },
  '/v1/messages': {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content: [{ type: 'text', text: 'Done' }],
    stop_reason: 'end_turn',
    usage,
  },
  '/v1/chat/completions': {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'up',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Done' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  },
};

/** Unknown names behind `profile: openai` or `anthropic` are treated like the newest generation. */
describe('Models missing from the capability table', () => {
  let app: TestApp;
  let catalogue: TestCatalogue;
  const suppliers: Record<string, ScriptedSupplier> = {};
  let count = 0;

  const providers = {
    openai: { style: 'openai-style', settings: { profile: 'openai' } },
    generic: { style: 'openai-style', settings: {} },
    anthropic: { style: 'messages-style', settings: { profile: 'anthropic' } },
    other: { style: 'messages-style', settings: {} },
  } as const;

  beforeAll(async () => {
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8' } });
    catalogue = new TestCatalogue(app);
    for (const [name, { style, settings }] of Object.entries(providers)) {
      const supplier = (suppliers[name] = await ScriptedSupplier.start());
      supplier.answer = ({ path }) => ({ body: answers[path]! });
      const kind = style === 'openai-style' ? ('bearer' as const) : ('header' as const);
      const credentials = [{ label: 'one', kind, secret: 'sk-canary-of-ours' }];
      await catalogue.provider({ name, style, settings, baseUrl: supplier.url, credentials });
    }
  });
  afterAll(async () => {
    await app.close();
    await Promise.all(Object.values(suppliers).map((supplier) => supplier.stop()));
  });

  /** URL path and body that the supplier receives for a chat request. */
  async function captureRequest(provider: keyof typeof providers, upstreamModel: string, rest: object) {
    const model = `unknown-${(count += 1)}`;
    await catalogue.model(model, [{ provider, upstreamModel }]);
    const response = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: 'Go' }],
        max_tokens: 4_000,
        ...rest,
      }),
    });
    expect(response.status).toBe(200);
    const { path: url, body } = suppliers[provider]!.requests.at(-1)!;
    return { url, body: JSON.parse(body) as Json };
  }

  test.each(['gpt-6.2-astra', 'gpt-6.2-sol', 'gpt-6.1-terra', 'gpt-7-nova', 'ft:gpt-7-nova:acme::1'])(
    'tools of %s are sent to /v1/responses, without temperature if the model always thinks',
    async (upstreamModel) => {
      const { url, body } = await captureRequest('openai', upstreamModel, {
        tools: chatTools,
        temperature: 0.5,
      });
      expect(url).toBe('/v1/responses');
      if (upstreamModel !== 'gpt-6.1-terra') expect(body).not.toHaveProperty('temperature');
    },
  );

  test.each([
    ['openai', 'ft:gpt-4o-2024-08-06:acme::1'],
    ['openai', 'gpt-4-0613'],
    ['generic', 'gpt-7-nova'],
  ] as const)('tools stay on /v1/chat/completions behind %s for %s', async (provider, upstreamModel) => {
    const { url, body } = await captureRequest(provider, upstreamModel, {
      tools: chatTools,
      temperature: 0.5,
    });
    expect(url).toBe('/v1/chat/completions');
    expect(body).toMatchObject({ temperature: 0.5 });
  });

  test('unknown Claude gets adaptive thinking behind profile anthropic only', async () => {
    const reasoning = { reasoning_effort: 'high' };
    const anthropicRequest = await captureRequest('anthropic', 'claude-opus-7', reasoning);
    expect(anthropicRequest.body.thinking).toMatchObject({ type: 'adaptive' });
    expect(anthropicRequest.body.output_config).toEqual({ effort: 'high' });
    const genericRequest = await captureRequest('other', 'claude-opus-7', reasoning);
    expect(genericRequest.body.thinking).toMatchObject({ type: 'enabled' });
  });
});
