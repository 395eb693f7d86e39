import { Controller, Query } from '@nestjs/common';
import { MIN_TOP_UP_CENTS, MAX_TOP_UP_CENTS, readTopUpCents, topUpOf } from '../../billing';
import { CatalogueService } from '../../catalogue';
import { nanoPerCent } from '../../kernel';
import { Access, Page } from '../../web';
import { publicModels } from './public-models';
import { PricingQuery } from './pricing.dto';

const EXAMPLES_CENTS = [1_000n, 5_000n, 10_000n, 50_000n];
const DEFAULT_CENTS = 5_000n;
const LISTED_MODELS = 30;

@Controller()
export class PricingController {
  constructor(private readonly catalogue: CatalogueService) {}

  @Page('/pricing', 'pages/public/pricing', Access.anyone())
  pricing(@Query() { amount = '' }: PricingQuery) {
    const cents = amount === '' ? DEFAULT_CENTS : readTopUpCents(amount);
    const models = publicModels(this.catalogue).filter(({ price }) => price !== null);
    return {
      amount,
      worked: cents === null ? null : topUpOf(cents),
      least: MIN_TOP_UP_CENTS * nanoPerCent,
      most: MAX_TOP_UP_CENTS * nanoPerCent,
      examples: EXAMPLES_CENTS.map(topUpOf),
      models: models.slice(0, LISTED_MODELS),
      isCut: models.length > LISTED_MODELS,
      total: models.length,
    };
  }
}
