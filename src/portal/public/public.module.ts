import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { GatewayModule } from '../../gateway';
import { WebModule } from '../../web';
import { WellKnownController } from './addresses/well-known.controller';
import { ApiDocsController } from './api-docs/api-docs.controller';
import { ApiDescriptions } from './api-docs/api-descriptions';
import { ErrorPagesController } from './api-docs/errors.controller';
import { DocumentLibrary } from './documents/document-library';
import { DocumentsController } from './documents/documents.controller';
import { PublicHomeController } from './public-home.controller';
import { LegalController } from './legal/legal.controller';
import { LegalLibrary } from './legal/legal-library';
import { PublicModelsController } from './models.controller';
import { PricingController } from './pricing.controller';

/** Everything that is public without an account. */
@Module({
  imports: [WebModule, CatalogueModule, GatewayModule],
  controllers: [
    PublicHomeController,
    PublicModelsController,
    PricingController,
    DocumentsController,
    LegalController,
    ErrorPagesController,
    ApiDocsController,
    WellKnownController,
  ],
  providers: [DocumentLibrary, LegalLibrary, ApiDescriptions],
  exports: [DocumentLibrary, LegalLibrary],
})
export class PublicModule {}
