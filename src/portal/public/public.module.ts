import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { GatewayModule } from '../../gateway';
import { WebModule } from '../../web';
import { AddressesController } from './addresses/addresses.controller';
import { ApiDocsController } from './api-docs/api-docs.controller';
import { Descriptions } from './api-docs/descriptions';
import { ErrorPagesController } from './api-docs/errors.controller';
import { DocumentLibrary } from './documents/document-library';
import { DocumentsController } from './documents/documents.controller';
import { HomeController } from './home.controller';
import { LegalController } from './legal/legal.controller';
import { LegalLibrary } from './legal/legal-library';
import { PublicModelsController } from './models.controller';
import { PricingController } from './pricing.controller';

/** Everything that is shown without an account. */
@Module({
  imports: [WebModule, CatalogueModule, GatewayModule],
  controllers: [
    HomeController,
    PublicModelsController,
    PricingController,
    DocumentsController,
    LegalController,
    ErrorPagesController,
    ApiDocsController,
    AddressesController,
  ],
  providers: [DocumentLibrary, LegalLibrary, Descriptions],
  exports: [DocumentLibrary, LegalLibrary],
})
export class PublicModule {}
