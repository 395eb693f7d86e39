import { parseUsd, parseUsdPerMillion } from '#product/kernel';
import { closeFeeFixture, createModel, openFeeFixture, sendRequest, supplier } from './fee-fixture';
import { responsesBody } from './responses-body';

const usd = parseUsdPerMillion;

describe('Supplier fees for images', () => {
  beforeAll(openFeeFixture);
  afterAll(closeFeeFixture);

  test('images are charged by size and quality, or by their tokens', async () => {
    const images = { '1024x1024': parseUsd('0.04'), 'hd/1024x1792': parseUsd('0.12') };
    const sizedModel = await createModel({ images, input: 0n, output: 0n }, 'chatty', 'image');
    supplier.answer = { created: 1, data: [{ b64_json: 'aGk=' }, { b64_json: 'aGk=' }] };
    const hdRequest = { prompt: 'x', quality: 'hd', size: '1024x1792', n: 2 };
    const hdResult = await sendRequest('images/generations', { model: sizedModel, ...hdRequest });
    expect(hdResult.record).toMatchObject({ cost_nano: '240000000', images: { 'hd/1024x1792': 2 } });
    const unknownSizeResult = await sendRequest('images/generations', {
      model: sizedModel,
      prompt: 'x',
      size: '9x9',
    });
    expect(unknownSizeResult).toMatchObject({ status: 503, error: { code: 'supplier_price_unresolved' } });
    // Member names of every JavaScript object have no price.
    for (const options of [{ size: 'constructor' }, { quality: 'Constructor', size: '9x9' }])
      expect(
        await sendRequest('images/generations', { model: sizedModel, prompt: 'x', ...options }),
      ).toMatchObject({
        status: 503,
        error: { code: 'supplier_price_unresolved' },
      });

    const tokenModel = await createModel(
      { input: usd('5'), image: usd('10'), imageOutput: usd('40'), output: 0n },
      'chatty',
      'image',
    );
    supplier.answer = {
      created: 1,
      data: [{ b64_json: 'aGk=' }],
      usage: {
        input_tokens: 340,
        output_tokens: 4_160,
        total_tokens: 4_500,
        input_tokens_details: { text_tokens: 17, image_tokens: 323 },
      },
    };
    const { record } = await sendRequest('images/generations', { model: tokenModel, prompt: 'x' });
    expect(record).toMatchObject({
      image_output_tokens: 4_160,
      image_tokens: 323,
      cost_nano: String(17 * 5_000 + 323 * 10_000 + 4_160 * 40_000),
    });
    supplier.answer = { created: 1, data: [{ b64_json: 'aGk=' }, { b64_json: 'aGk=' }] };
    const lowRequest = { model: tokenModel, prompt: 'x', quality: 'low', n: 2 };
    expect((await sendRequest('images/generations', lowRequest)).record).toMatchObject({
      image_output_tokens: 816,
      usage_source: 'estimated',
      cost_nano: String(816 * 40_000),
    });
    const strangeRequest = { model: tokenModel, prompt: 'x', quality: 'constructor', n: 2 };
    expect((await sendRequest('images/generations', strangeRequest)).record).toMatchObject({
      image_output_tokens: 2 * 6_240,
      cost_nano: String(2 * 6_240 * 40_000),
    });
  });

  test('high-quality images have their own price on both routes', async () => {
    // "`hd` pictures with `per_call` alone are under-billed ($0.04 of $0.12)".
    for (const price of [{ images: { '1024x1024': parseUsd('0.04') } }, { perCallNano: parseUsd('0.04') }]) {
      const plainModel = await createModel({ ...price, input: 0n, output: 0n }, 'chatty', 'image');
      for (const quality of ['high', 'hd']) {
        const { status, error } = await sendRequest('images/generations', {
          model: plainModel,
          prompt: 'x',
          quality,
        });
        expect([status, error?.message]).toEqual([503, expect.stringContaining(`image ${quality}/1024`)]);
      }
    }
    const tools = [{ type: 'image_generation', quality: 'high' }];
    const cheapModel = await createModel({ uses: { image_generation: parseUsd('0.01') } });
    const body = { input: 'x', max_output_tokens: 50, tools };
    expect((await sendRequest('responses', { ...body, model: cheapModel })).error?.message).toContain(
      'generation_high',
    );
    const uses = { image_generation: parseUsd('0.01'), image_generation_high: parseUsd('0.17') };
    const model = await createModel({ uses });
    const picture = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGk=' };
    supplier.answer = responsesBody([picture]);
    expect((await sendRequest('responses', { ...body, model })).record).toMatchObject({
      cost_nano: '171200000',
    });
    // No quality requested; the supplier chose one.
    supplier.answer = responsesBody([{ ...picture, quality: 'high' }]);
    const chosenResult = await sendRequest('responses', {
      ...body,
      model,
      tools: [{ type: 'image_generation' }],
    });
    expect(chosenResult.record).toMatchObject({ uses: { image_generation_high: 1 }, cost_nano: '171200000' });
  });

  test.each([
    ['no report', {}, 0],
    // The readable input counts; only the output is estimated.
    ['a report that cannot be read', { usage: { input_tokens: 5, output_tokens: 'many' } }, 5],
  ])('images sold by tokens are never free: %s', async (_what, told, inputTokens) => {
    const model = await createModel({ input: usd('5'), output: usd('40') }, 'chatty', 'image');
    supplier.answer = { created: 1, data: [{ b64_json: 'aGk=' }], ...told };
    const { record } = await sendRequest('images/generations', { model, prompt: 'x', quality: 'medium' });
    expect(record).toMatchObject({
      image_output_tokens: 1_584,
      usage_source: 'estimated',
      cost_nano: String(63_360_000 + inputTokens * 5_000),
    });
  });
});
