import { CatalogueEditor, CatalogueService, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import type { TestApp } from '../../support/app';
import { app, closeHouse, openHouse, post, supplier } from './gateway-house';

/** A model of a supplier that answers numbers, whatever is asked. */
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

describe('embeddings', () => {
  beforeAll(async () => {
    await openHouse();
    await addModel(app);
  });
  afterAll(closeHouse);
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());

  const embed = (body: object): Promise<Response> =>
    post('/v1/embeddings', { model: 'sim-embed', input: 'one', ...body });
  const firstOf = async (answer: Response): Promise<unknown> =>
    ((await answer.json()) as { data: { embedding: unknown }[] }).data[0]?.embedding;
  const unpack = (text: unknown): number[] => {
    const bytes = Buffer.from(String(text), 'base64');
    return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
  };

  test.each(['sim-embed', 'numbers'])('of %s are the same in both encodings', async (model) => {
    const numbers = (await firstOf(await embed({ model }))) as number[];
    expect(numbers).toHaveLength(256);
    const packed = await firstOf(await embed({ model, encoding_format: 'base64' }));
    expect(typeof packed).toBe('string');
    expect(unpack(packed)).toEqual(numbers.map(Math.fround));
  });

  describe('of a text that is certainly too long', () => {
    const refused = async (input: unknown, param: string): Promise<void> => {
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

    test('are refused before anything is sent', async () => {
      const words = 'a '.repeat(2_049);
      await refused(words, 'input');
      await refused(['one', words], 'input[1]');
      await refused([7, ...Array<number>(2_048).fill(1)], 'input');
      await refused([[1], Array<number>(2_049).fill(1)], 'input[1]');
      await refused('漢'.repeat(90_000), 'input');
      expect(await supplier.requests()).toEqual([]);
    });

    // "5,000 Chinese characters and 22,400 letters without a blank pass for 2,048"
    test.each([
      ['5,000 Chinese characters', '中华人民共和国的一切权力属于人民'.repeat(313).slice(0, 5_000)],
      ['22,400 letters without a blank', 'a'.repeat(22_400)],
      ['letters and Chinese characters', `${'word'.repeat(2_800)} ${'权力'.repeat(1_300)}`],
    ])('are refused at 2,048 tokens although they have no words: %s', async (_what, text) => {
      await refused(text, 'input');
      expect(await supplier.requests()).toEqual([]);
    });

    // The densest text of each kind that a tokenizer in use was seen to fit into 2,048 tokens.
    test.each([
      ['3,000 Chinese characters', '中华人民共和国的一切权力属于人民'.repeat(188).slice(0, 3_000)],
      ['long words', 'responsibilities '.repeat(1_900)],
      ['long words without blanks', 'internationalization'.repeat(1_000)],
    ])('are sent if the supplier can take them: %s', async (_what, text) => {
      expect((await embed({ model: 'short', input: text })).status).toBe(200);
    });

    test('are sent where they may fit, by what the model takes', async () => {
      for (const input of ['a '.repeat(2_048), ' '.repeat(9_000) + 'x', 'x'.repeat(9_000)])
        expect((await embed({ model: 'short', input })).status).toBe(200);
      expect((await embed({ model: 'longer', input: 'a '.repeat(4_000) })).status).toBe(200);
      expect((await embed({ model: 'longer', input: 'a '.repeat(4_001) })).status).toBe(400);
    });

    test('go to the larger model where there is one', async () => {
      await app.database.transaction((tx) => new CatalogueEditor().setOverflow(tx, 'short', 'longer'));
      await app.application.get(CatalogueService).reload();
      const answer = await embed({ model: 'short', input: 'a '.repeat(3_000) });
      expect([answer.status, ((await answer.json()) as { model: string }).model]).toEqual([200, 'longer']);
    });
  });

  test('are numbers for whoever asks for them, though the supplier packed them', async () => {
    const bytes = Buffer.alloc(8);
    bytes.writeFloatLE(0.5, 0);
    bytes.writeFloatLE(-1, 4);
    const data = [{ object: 'embedding', index: 0, embedding: bytes.toString('base64') }];
    const usage = { prompt_tokens: 1, total_tokens: 1 };
    await supplier.addFault({
      fault: { kind: 'status', status: 200, body: { object: 'list', data, usage } },
    });
    expect(await firstOf(await embed({ encoding_format: 'float' }))).toEqual([0.5, -1]);
    expect(await firstOf(await embed({}))).toEqual([0.5, -1]);
    expect(await firstOf(await embed({ encoding_format: 'base64' }))).toBe(data[0]?.embedding);
  });

  test.each([
    ['a text', 'one', 1],
    ['texts', ['one', 'two'], 2],
    ['tokens', [1, 2, 3], 1],
    ['lists of tokens', [[1, 2], [3]], 2],
    ['as many as there may be', Array(2_048).fill('x'), 2_048],
  ])('are made of %s', async (_what, input, count) => {
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
  ])('of %j name the field at fault', async (body, param) => {
    const answer = await embed(body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { param } });
    expect(await supplier.requests()).toEqual([]);
  });
});
