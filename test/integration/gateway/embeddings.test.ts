import { CatalogueEditor, CatalogueService, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import type { TestApp } from '../../support/app';
import { app, closeFixture, openFixture, post, supplier } from './gateway-fixture';

/** Adds a model whose supplier always returns numbers, whatever the encoding format. */
async function addModel(app: TestApp): Promise<void> {
  const editor = new CatalogueEditor();
  await app.database.transaction(async (tx) => {
    await editor.upsertModel(tx, { name: 'numbers', kind: 'embedding', ownedBy: 'test' });
    await editor.setLanes(tx, 'numbers', [
      { provider: 'sandbox', upstreamModel: 'sim-embed-floats', region: 'local' },
    ]);
    const rates = priceRates({ input: parseUsdPerMillion('0.02') });
    await new PriceService().addPrice(tx, { model: 'numbers', rates, source: 'test' });
  });
  await app.application.get(CatalogueService).reload();
}

describe('Embeddings', () => {
  beforeAll(async () => {
    await openFixture();
    await addModel(app);
  });
  afterAll(closeFixture);
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());

  const embed = (body: object): Promise<Response> =>
    post('/v1/embeddings', { model: 'sim-embed', input: 'one', ...body });
  const firstEmbeddingOf = async (answer: Response): Promise<unknown> =>
    ((await answer.json()) as { data: { embedding: unknown }[] }).data[0]?.embedding;
  const unpack = (text: unknown): number[] => {
    const bytes = Buffer.from(String(text), 'base64');
    return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
  };

  test.each(['sim-embed', 'numbers'])('embeddings of %s are the same in both encodings', async (model) => {
    const numbers = (await firstEmbeddingOf(await embed({ model }))) as number[];
    expect(numbers).toHaveLength(256);
    const encoded = await firstEmbeddingOf(await embed({ model, encoding_format: 'base64' }));
    expect(typeof encoded).toBe('string');
    expect(unpack(encoded)).toEqual(numbers.map(Math.fround));
  });

  describe('Input that certainly exceeds the context', () => {
    const expectTooLong = async (input: unknown, param: string): Promise<void> => {
      const answer = await embed({ model: 'short', input });
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { error: { code: 'context_length_exceeded', param } },
      ]);
    };

    beforeAll(async () => {
      const editor = new CatalogueEditor();
      await app.database.transaction(async (tx) => {
        for (const [name, contextTokens] of [
          ['short', null],
          ['longer', 4_000],
        ] as const) {
          await editor.upsertModel(tx, { name, kind: 'embedding', ownedBy: 'test', contextTokens });
          await editor.setLanes(tx, name, [
            { provider: 'sandbox', upstreamModel: 'sim-embed', region: 'local' },
          ]);
          const rates = priceRates({ input: parseUsdPerMillion('0.02') });
          await new PriceService().addPrice(tx, { model: name, rates, source: 'test' });
        }
      });
      await app.application.get(CatalogueService).reload();
    });

    test('input that exceeds the context is rejected before anything is sent', async () => {
      const longText = 'a '.repeat(2_049);
      await expectTooLong(longText, 'input');
      await expectTooLong(['one', longText], 'input[1]');
      await expectTooLong([7, ...Array<number>(2_048).fill(1)], 'input');
      await expectTooLong([[1], Array<number>(2_049).fill(1)], 'input[1]');
      await expectTooLong('漢'.repeat(90_000), 'input');
      expect(await supplier.requests()).toEqual([]);
    });

    // "5,000 Chinese characters and 22,400 letters without a blank pass for 2,048"
    test.each([
      ['5,000 Chinese characters', '中华人民共和国的一切权力属于人民'.repeat(313).slice(0, 5_000)],
      ['22,400 letters without a blank', 'a'.repeat(22_400)],
      ['letters and Chinese characters', `${'word'.repeat(2_800)} ${'权力'.repeat(1_300)}`],
    ])('input without spaces is rejected above 2,048 tokens: %s', async (_what, text) => {
      await expectTooLong(text, 'input');
      expect(await supplier.requests()).toEqual([]);
    });

    // The densest text of each kind that a known tokenizer fits into 2,048 tokens.
    test.each([
      ['3,000 Chinese characters', '中华人民共和国的一切权力属于人民'.repeat(188).slice(0, 3_000)],
      ['long words', 'responsibilities '.repeat(1_900)],
      ['long words without blanks', 'internationalization'.repeat(1_000)],
    ])('input that might fit is sent to the supplier: %s', async (_what, text) => {
      expect((await embed({ model: 'short', input: text })).status).toBe(200);
    });

    test('input is checked against the context of the model', async () => {
      for (const input of ['a '.repeat(2_048), ' '.repeat(9_000) + 'x', 'x'.repeat(9_000)])
        expect((await embed({ model: 'short', input })).status).toBe(200);
      expect((await embed({ model: 'longer', input: 'a '.repeat(4_000) })).status).toBe(200);
      expect((await embed({ model: 'longer', input: 'a '.repeat(4_001) })).status).toBe(400);
    });

    test('input that is too long goes to the overflow model', async () => {
      await app.database.transaction((tx) => new CatalogueEditor().setOverflow(tx, 'short', 'longer'));
      await app.application.get(CatalogueService).reload();
      const answer = await embed({ model: 'short', input: 'a '.repeat(3_000) });
      expect([answer.status, ((await answer.json()) as { model: string }).model]).toEqual([200, 'longer']);
    });
  });

  test('base64 from the supplier is converted to numbers unless the caller wants base64', async () => {
    const bytes = Buffer.alloc(8);
    bytes.writeFloatLE(0.5, 0);
    bytes.writeFloatLE(-1, 4);
    const data = [{ object: 'embedding', index: 0, embedding: bytes.toString('base64') }];
    const usage = { prompt_tokens: 1, total_tokens: 1 };
    await supplier.addFault({
      fault: { kind: 'status', status: 200, body: { object: 'list', data, usage } },
    });
    expect(await firstEmbeddingOf(await embed({ encoding_format: 'float' }))).toEqual([0.5, -1]);
    expect(await firstEmbeddingOf(await embed({}))).toEqual([0.5, -1]);
    expect(await firstEmbeddingOf(await embed({ encoding_format: 'base64' }))).toBe(data[0]?.embedding);
  });

  test.each([
    ['a text', 'one', 1],
    ['texts', ['one', 'two'], 2],
    ['tokens', [1, 2, 3], 1],
    ['lists of tokens', [[1, 2], [3]], 2],
    ['as many as there may be', Array(2_048).fill('x'), 2_048],
  ])('embeddings accept %s', async (_what, input, count) => {
    const answer = await embed({ input, dimensions: 2 });
    expect(((await answer.json()) as { data: unknown[] }).data).toHaveLength(count);
  });

  test.each([
    [{ input: '' }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: 5 }, 'input'],
    [{ input: ['one', ''] }, 'input[1]'],
    [{ input: ['one', { text: 'two' }] }, 'input[1]'],
    [{ input: [1, 'two'] }, 'input[0]'],
    [{ input: [[]] }, 'input[0]'],
    [{ input: Array(2_049).fill('x') }, 'input'],
    [{ dimensions: 0 }, 'dimensions'],
    [{ dimensions: '2' }, 'dimensions'],
    [{ encoding_format: 'hex' }, 'encoding_format'],
  ])('%j returns 400 that names the invalid field', async (body, param) => {
    const answer = await embed(body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { param } });
    expect(await supplier.requests()).toEqual([]);
  });
});
