import { CatalogueService, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import type { TestApp } from '../../support/app';
import { fetchPage, startPublicSite } from '../../support/public-site';

let app: TestApp;

beforeAll(async () => {
  app = await startPublicSite();
});
afterAll(() => app.close());

interface ModelListResponse {
  readonly data: readonly {
    readonly id: string;
    readonly state: string;
    readonly price: Readonly<Record<string, unknown>> | null;
  }[];
  readonly total: number;
  readonly has_more: boolean;
}

const list = async (query = ''): Promise<ModelListResponse> => {
  const { status, text } = await fetchPage(app, `/models-public?format=json${query}`);
  expect(status).toBe(200);
  return JSON.parse(text) as ModelListResponse;
};
const idsOf = ({ data }: ModelListResponse): string[] => data.map(({ id }) => id);

describe('The start page', () => {
  test('shows a sample request to this deployment with an available model and prices', async () => {
    const { status, text } = await fetchPage(app, '/');
    expect(status).toBe(200);
    expect(text).toMatch(/curl http:\/\/localhost[^ ]*\/v1\/chat\/completions/);
    expect(text).toContain('&quot;sim-small&quot;');
    expect(text).toContain('$0.15');
    expect(text).toContain('href="/signup"');
  });

  test('is available in five languages', async () => {
    for (const [language, word] of [
      ['de', 'Preise'],
      ['fr', 'Tarifs'],
      ['it', 'Prezzi'],
      ['es', 'Precios'],
    ] as const) {
      const { text } = await fetchPage(app, '/', { accept: 'text/html', 'accept-language': language });
      expect(text).toContain(`lang="${language}"`);
      expect(text).toContain(`>${word}</a>`);
    }
  });
});

describe('The model list', () => {
  test('shows the current prices and can be cached', async () => {
    const { status, headers, text } = await fetchPage(app, '/models-public');
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('public, max-age=60');
    expect(headers.get('vary')).toContain('cookie');
    for (const id of ['sim-small', 'sim-embed', 'sim-transcribe']) expect(text).toContain(`<tr id="${id}">`);
    const rowOf = (id: string): string =>
      text.split('<tr id="').find((row) => row.startsWith(`${id}"`)) ?? '';
    expect(rowOf('sim-embed')).toContain('$0.02');
    expect(rowOf('sim-embed')).not.toContain('$0.00');
    expect(text).toContain('$0.006 a minute');
  });

  test('returns prices as decimals in JSON', async () => {
    const { data, total, has_more: hasMore } = await list();
    expect(total).toBe(data.length);
    expect(hasMore).toBe(false);
    expect(data.find(({ id }) => id === 'sim-large')?.price).toMatchObject({
      currency: 'USD',
      input_per_million_tokens: 3,
      output_per_million_tokens: 15,
      cache_read_per_million_tokens: 0.3,
      is_lowest: true,
    });
    expect(data.find(({ id }) => id === 'sim-rerank')?.price).toMatchObject({ per_call: 0.002 });
  });

  test('is filtered and sorted by query parameters', async () => {
    expect(idsOf(await list('&kind=embedding'))).toEqual(['sim-embed']);
    expect(idsOf(await list('&modality=image&tools=yes'))).toEqual(['sim-small', 'sim-large']);
    expect(idsOf(await list('&kind=chat&max_price=0.5&sort=-input'))).toEqual(['sim-8k', 'sim-small']);
    expect(idsOf(await list('&kind=chat&sort=output'))).toEqual([
      'sim-small',
      'sim-8k',
      'sim-reason',
      'sim-large',
    ]);
    expect(idsOf(await list('&q=REASON+sim&provider=sandbox&region=local'))).toEqual(['sim-reason']);
    expect(idsOf(await list('&region=moon'))).toEqual([]);
    // A model without a token price sorts last in both directions.
    expect(idsOf(await list('&sort=input')).at(-1)).toBe(idsOf(await list('&sort=-input')).at(-1));
  });

  test('keeps the search in the form, escaped, and shows a message without matches', async () => {
    const { status, text } = await fetchPage(app, '/models-public?q=%3Cscript%3Ealert(1)%3C/script%3E');
    expect(status).toBe(200);
    expect(text).toContain('value="&lt;script&gt;alert(1)&lt;/script&gt;"');
    expect(text).not.toContain('<script>alert');
    expect(text).toContain('No model fits these filters');
  });

  test('refuses an unknown sort order', async () => {
    const { status, text } = await fetchPage(app, '/models-public?sort=age', { accept: 'application/json' });
    expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([422, 'validation_error']);
  });

  test('omits hidden and restricted models, shows paused ones without a price, and updates prices', async () => {
    const prices = app.application.get(PriceService);
    const catalogue = app.application.get(CatalogueService);
    await app.database.query("UPDATE model SET state = 'hidden' WHERE name = 'sim-8k'");
    await app.database.query("UPDATE model SET state = 'paused' WHERE name = 'sim-reason'");
    await app.database.query("UPDATE model SET restricted = true WHERE name = 'sim-large'");
    const rates = priceRates({ input: parseUsdPerMillion('0.99'), output: parseUsdPerMillion('2') });
    await app.database.transaction((tx) =>
      prices.addPrice(tx, { model: 'sim-small', rates, source: 'test' }),
    );
    await catalogue.reload();

    const chatModels = await list('&kind=chat');
    expect(idsOf(chatModels)).toEqual(['sim-small', 'sim-reason']);
    expect(chatModels.data[0]?.price).toMatchObject({ input_per_million_tokens: 0.99 });
    expect(chatModels.data[1]).toMatchObject({ state: 'paused', price: null });
    const { text } = await fetchPage(app, '/models-public');
    expect(text).not.toContain('sim-8k');
  });
});

describe('The pricing page', () => {
  test('calculates the fee in cents, rounded up', async () => {
    const { status, text } = await fetchPage(app, '/pricing');
    expect(status).toBe(200);
    for (const amount of ['$50.00', '$2.64', '$52.64']) expect(text).toContain(amount);
    const otherPage = await fetchPage(app, '/pricing?amount=19,99');
    for (const amount of ['$19.99', '$1.06', '$21.05']) expect(otherPage.text).toContain(amount);
  });

  test.each(['4.99', '10000.01', '-5', '1e3', '5.001', '"><script>', 'x'])(
    'explains why %s is not a valid amount',
    async (amount) => {
      const { status, text } = await fetchPage(app, `/pricing?amount=${encodeURIComponent(amount)}`);
      expect(status).toBe(200);
      expect(text).toContain('role="alert"');
      expect(text).toContain('Enter an amount from $5.00 to $10,000.00');
      expect(text).not.toContain('"><script>');
    },
  );
});
