import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { WebModule } from '../../web';
import { HomeController } from './home.controller';
import { PublicModelsController } from './models.controller';
import { PricingController } from './pricing.controller';

/** Everything that is shown without an account. */
@Module({
  imports: [WebModule, CatalogueModule],
  controllers: [HomeController, PublicModelsController, PricingController],
})
export class PublicModule {}
