import { CatalogueEditor, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import type { Database } from '../../../src/platform';
import type { EgressTestRoute } from '../ways/egress-test-route';

export interface StockedModel {
  readonly name: string;
  readonly address: string;
}

/** Adds a model behind each address to the catalogue, bypassing every check. */
export async function stockModels(
  database: Database,
  addresses: readonly string[],
  egressRoute: EgressTestRoute,
): Promise<StockedModel[]> {
  const editor = new CatalogueEditor();
  const prices = new PriceService();
  const models = addresses.map((address, at) => ({ name: `at-${at}`, address }));
  await database.transaction(async (tx) => {
    for (const { name, address } of models) {
      const provider = {
        name,
        style: 'openai-style',
        baseUrl: 'https://api.example.com',
        settings: { ...egressRoute.settings({ anonymous: true }) },
      };
      await editor.upsertProvider(tx, provider);
      await tx.query('UPDATE provider SET base_url = $1 WHERE name = $2', [address, name]);
      await editor.upsertModel(tx, { name, kind: 'chat', ownedBy: 'proof', maxOutputTokens: 100 });
      await editor.setLanes(tx, name, [{ provider: name, upstreamModel: 'x', region: 'local' }]);
      await prices.addPrice(tx, {
        model: name,
        source: 'proof',
        rates: priceRates({ input: parseUsdPerMillion('1'), output: parseUsdPerMillion('1') }),
      });
    }
  });
  return models;
}
