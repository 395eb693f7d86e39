import { Controller, Query } from '@nestjs/common';
import { IsOptional, Length } from '../../platform';
import { LEAST_TOP_UP_CENTS, MOST_TOP_UP_CENTS, readTopUpCents, topUpOf } from '../../billing';
import { CatalogueService } from '../../catalogue';
import { nanoPerCent } from '../../kernel';
import { Access, Page } from '../../web';
import { publicModels } from './public-models';

class PricingQuery {
  @IsOptional()
  @Length(0, 40)
  amount?: string;
}

const EXAMPLES_CENTS = [1_000n, 5_000n, 10_000n, 50_000n];
const FIRST_CENTS = 5_000n;
const MODELS_SHOWN = 30;

@Controller()
export class PricingController {
  constructor(private readonly catalogue: CatalogueService) {}

  @Page('/pricing', 'pages/public/pricing', Access.anyone())
  pricing(@Query() { amount = '' }: PricingQuery) {
    const cents = amount === '' ? FIRST_CENTS : readTopUpCents(amount);
    const models = publicModels(this.catalogue).filter(({ price }) => price !== null);
    return {
      amount,
      worked: cents === null ? null : topUpOf(cents),
      least: LEAST_TOP_UP_CENTS * nanoPerCent,
      most: MOST_TOP_UP_CENTS * nanoPerCent,
      examples: EXAMPLES_CENTS.map(topUpOf),
      models: models.slice(0, MODELS_SHOWN),
      isCut: models.length > MODELS_SHOWN,
      total: models.length,
    };
  }
}
