import { parseUsdPerMillion } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { until } from '../../support/until';
import { TestCatalogue } from './test-catalogue';
import { events, FixedResponseSupplier } from './fixed-response-supplier';

/** The model reads 200,000 tokens, and its vendor bills images at a multiple of the tokens they occupy. */
describe('Plausibility of usage reports', () => {
  let app: TestApp;
  let supplier: FixedResponseSupplier;
  let key: string;

  beforeAll(async () => {
    supplier = await FixedResponseSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    await catalogue.provider({
      name: 'maker',
      style: 'openai-style',
      settings: { profile: 'openai' },
      baseUrl: supplier.url,
      regions: ['eu'],
      credentials: [{ label: 'one', kind: 'bearer', secret: 'sim-canary-of-ours' }],
    });
    await catalogue.model('seeing', [{ provider: 'maker', upstreamModel: 'gpt-4o-mini' }], {
      input: parseUsdPerMillion('0.15'),
      output: parseUsdPerMillion('0.6'),
    });
    ({ key } = await addCustomer(app, 'painter', 10_000_000_000n));
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const usageOf = (prompt: number) => ({
    prompt_tokens: prompt,
    completion_tokens: 2,
    total_tokens: prompt + 2,
  });
  const responseOf = (prompt: number): object => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-4o-mini',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Seen.' }, finish_reason: 'stop' }],
    usage: usageOf(prompt),
  });
  const streamOf = (prompt: number) => {
    const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o-mini' };
    return `${events(
      {
        ...chunk,
        choices: [{ index: 0, delta: { role: 'assistant', content: 'Seen.' }, finish_reason: null }],
      },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { ...chunk, choices: [], usage: usageOf(prompt) },
    )}data: [DONE]\n\n`;
  };

  const recordOf = async (pictures: number, stream: boolean, prompt: number) => {
    supplier.answer = stream ? streamOf(prompt) : responseOf(prompt);
    const picture = { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } };
    const content = [{ type: 'text', text: 'x' }, ...Array.from({ length: pictures }, () => picture)];
    const answer = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'seeing',
        max_tokens: 50,
        stream,
        messages: [{ role: 'user', content }],
      }),
    });
    expect(answer.status).toBe(200);
    await answer.text();
    const [record] = await app.database.query<Record<string, unknown>>(
      'SELECT input_tokens, output_tokens, usage_source FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    return record;
  };

  describe.each([
    ['whole', false],
    ['streamed', true],
  ])('Usage report of a %s response', (_name, stream) => {
    test('report is accepted, however large, if as much was held', async () => {
      const prompt = 60 * 48_169;
      expect(await recordOf(60, stream, prompt)).toEqual({
        input_tokens: prompt,
        output_tokens: 2,
        usage_source: 'supplier',
      });
    });

    test("report is accepted up to the model's context", async () => {
      expect(await recordOf(0, stream, 199_990)).toMatchObject({
        input_tokens: 199_990,
        usage_source: 'supplier',
      });
    });

    test('report above what the request could use is charged by estimate and logged', async () => {
      const record = await recordOf(0, stream, 200_001);
      expect(record).toMatchObject({ output_tokens: 2, usage_source: 'estimated' });
      const input = Number(record?.input_tokens);
      expect([input > 60, input < 600]).toEqual([true, true]);
      await until(() => app.log.some((line) => line.includes('more tokens than such a request can use')));
    });
  });
});
