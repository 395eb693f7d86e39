import {
  CatalogueEditor,
  CatalogueService,
  CredentialEditor,
  type CredentialInput,
  type LaneInput,
  type ModelKind,
  PriceService,
  type ProviderInput,
} from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import type { TestApp } from '../../support/app';

export interface CatalogueProviderInput extends ProviderInput {
  readonly credentials: readonly Omit<CredentialInput, 'providerId'>[];
}

/** Adds suppliers and models of a test to the catalogue of a running service. */
export class TestCatalogue {
  private readonly editor = new CatalogueEditor();
  private readonly prices = new PriceService();

  constructor(private readonly app: TestApp) {}

  async provider({ credentials, ...provider }: CatalogueProviderInput): Promise<void> {
    const secrets = this.app.application.get(CredentialEditor, { strict: false });
    await this.app.database.transaction(async (tx) => {
      const { id: providerId } = await this.editor.upsertProvider(tx, provider);
      for (const credential of credentials) await secrets.put(tx, { providerId, ...credential });
    });
    await this.reload();
  }

  /** Costs $1 per 1M input tokens and $2 per 1M output tokens unless a test sets other rates. */
  async model(
    name: string,
    lanes: readonly (Partial<LaneInput> & Pick<LaneInput, 'provider'>)[],
    rates: Parameters<typeof priceRates>[0] = {
      input: parseUsdPerMillion('1'),
      output: parseUsdPerMillion('2'),
    },
    kind: ModelKind = 'chat',
  ): Promise<void> {
    await this.app.database.transaction(async (tx) => {
      await this.editor.upsertModel(tx, {
        name,
        kind,
        ownedBy: 'test',
        contextTokens: 200_000,
        maxOutputTokens: 8_000,
      });
      await this.editor.setLanes(
        tx,
        name,
        lanes.map((lane) => ({ upstreamModel: 'sim-large', region: 'eu', ...lane })),
      );
      await this.prices.addPrice(tx, {
        model: name,
        source: 'test',
        rates: priceRates(rates),
      });
    });
    await this.reload();
  }

  private reload(): Promise<void> {
    return this.app.application.get(CatalogueService).reload();
  }
}
