import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { parseUsd, priceRates } from '#product/kernel';
import type { TestApp } from '../../support/app';
import { app, closeFixture, openFixture, post, recordOf, supplier } from './gateway-fixture';

interface Ranking {
  readonly model: string;
  readonly results: readonly { readonly index: number; readonly relevance_score: number }[];
}

async function addModel(app: TestApp, url: string): Promise<void> {
  const editor = new CatalogueEditor();
  const credentials = app.application.get(CredentialEditor, { strict: false });
  await app.database.transaction(async (tx) => {
    const { id: providerId } = await editor.upsertProvider(tx, {
      name: 'ranker',
      style: 'cohere-rerank',
      baseUrl: url,
    });
    await credentials.put(tx, { providerId, label: 'test', kind: 'bearer', secret: 'sim-test' });
    await editor.upsertModel(tx, { name: 'ranker', kind: 'rerank', ownedBy: 'test' });
    await editor.setLanes(tx, 'ranker', [{ provider: 'ranker', upstreamModel: 'sim-rerank', region: 'eu' }]);
    const rates = priceRates({ perCallNano: parseUsd('0.002') });
    await new PriceService().addPrice(tx, { model: 'ranker', rates, source: 'test' });
  });
  await app.application.get(CatalogueService).reload();
}

describe('Reranking', () => {
  beforeAll(async () => {
    await openFixture();
    await addModel(app, supplier.url);
  });
  afterAll(closeFixture);
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());

  const documents = ['apples and pears', 'the speed of light', 'pear cake'];
  const rerank = (path: string, body: object): Promise<Response> =>
    post(path, { model: 'sim-rerank', query: 'pear cake', documents, ...body });

  describe.each(['/v1/rerank', '/v2/rerank'])('Reranking on %s', (path) => {
    test.each(['sim-rerank', 'ranker'])(
      '%s ranks the best document first and honours top_n',
      async (model) => {
        const answer = await rerank(path, { model, top_n: 2 });
        expect(answer.status).toBe(200);
        const body = (await answer.json()) as Ranking;
        expect(body.model).toBe(model);
        expect(body.results.map(({ index }) => index)[0]).toBe(2);
        expect(body.results).toHaveLength(2);
        expect(body.results[0]?.relevance_score).toBeGreaterThan(body.results[1]?.relevance_score ?? 1);
        expect(await recordOf(answer)).toMatchObject({ surface: 'rerank', calls: 1, cost_nano: '2000000' });
      },
    );

    // "rerank's `x-svc-input-tokens` is 0 while the body says 8".
    test('reports the input tokens that the body reports', async () => {
      const answer = await rerank(path, {});
      const body = (await answer.json()) as { readonly meta: { tokens: { input_tokens: number } } };
      expect(body.meta.tokens.input_tokens).toBeGreaterThan(0);
      expect(answer.headers.get('x-svc-input-tokens')).toBe(String(body.meta.tokens.input_tokens));
      expect(await recordOf(answer)).toMatchObject({ calls: 1, cost_nano: '2000000' });
    });

    test('results are sorted and cut to top_n if the supplier does neither', async () => {
      const results = [0.2, 0.9, 0.5].map((relevance_score, index) => ({ index, relevance_score }));
      await supplier.addFault({ fault: { kind: 'status', status: 200, body: { id: 'x', results } } });
      const body = (await (await rerank(path, { top_n: 2 })).json()) as Ranking;
      expect(body.results.map(({ index }) => index)).toEqual([1, 2]);
    });

    test('result fields have standard names whatever the supplier calls them', async () => {
      const data = [0.2, 0.9].map((score, index) => ({ index, score, document: 'x' }));
      await supplier.addFault({ fault: { kind: 'status', status: 200, body: { object: 'list', data } } });
      expect(await (await rerank(path, {})).json()).toEqual({
        object: 'list',
        model: 'sim-rerank',
        results: [
          { index: 1, relevance_score: 0.9, document: 'x' },
          { index: 0, relevance_score: 0.2, document: 'x' },
        ],
      });
    });

    test.each(['sim-rerank', 'ranker'])('%s accepts documents as objects', async (model) => {
      const objects = documents.map((text) => ({ text }));
      const body = (await (await rerank(path, { model, documents: objects })).json()) as Ranking;
      expect(body.results[0]?.index).toBe(2);
    });

    test.each([
      [{ query: undefined }, 'query'],
      [{ query: '' }, 'query'],
      [{ query: ['a'] }, 'query'],
      [{ documents: [] }, 'documents'],
      [{ documents: 'a text' }, 'documents'],
      [{ documents: ['a', 7] }, 'documents[1]'],
      [{ top_n: 0 }, 'top_n'],
      [{ top_n: '2' }, 'top_n'],
      [{ model: undefined }, 'model'],
    ])('%j returns 400 that names the invalid field', async (body, param) => {
      const answer = await rerank(path, body);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { param } });
      expect(await supplier.requests()).toEqual([]);
    });
  });

  test('supplier that accepts only text receives documents as text', async () => {
    await rerank('/v2/rerank', { model: 'ranker', documents: [{ text: 'a' }, { title: 'b' }, 'c'] });
    const [sent] = await supplier.requests();
    expect(sent).toMatchObject({ path: '/v2/rerank', body: { documents: ['a', '{"title":"b"}', 'c'] } });
  });

  test('rerank is charged by the search units used', async () => {
    const manyDocuments = Array.from({ length: 150 }, (_, index) => `document ${index}`);
    expect(await recordOf(await rerank('/v2/rerank', { documents: manyDocuments }))).toMatchObject({
      calls: 2,
      cost_nano: '4000000',
    });
  });
});
