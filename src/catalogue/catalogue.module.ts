import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SecretsModule, SupplierHttpModule } from '../platform';
import { catalogueEntities } from './catalogue-entities';
import { CatalogueEditor } from './catalogue-editor.service';
import { CatalogueService } from './catalogue.service';
import { CredentialEditor } from './credential-editor.service';
import { ModelAccess } from './model-access.service';
import { ModelDetailService } from './model-detail.service';
import { ProviderDetailService } from './provider-detail.service';
import { TokenEvents } from './credential-events.service';
import { CredentialStore } from './credential-store.service';
import { CredentialKeeper, GatewayFilePlanner, PriceListPlanner } from './plan';
import { PriceService } from './price.service';

@Module({
  imports: [SecretsModule, SupplierHttpModule, TypeOrmModule.forFeature(catalogueEntities)],
  providers: [
    CatalogueService,
    CatalogueEditor,
    PriceService,
    CredentialStore,
    CredentialEditor,
    TokenEvents,
    ModelAccess,
    ModelDetailService,
    ProviderDetailService,
    CredentialKeeper,
    GatewayFilePlanner,
    PriceListPlanner,
  ],
  exports: [
    CatalogueService,
    CatalogueEditor,
    PriceService,
    CredentialStore,
    CredentialEditor,
    TokenEvents,
    ModelAccess,
    ModelDetailService,
    ProviderDetailService,
    GatewayFilePlanner,
    PriceListPlanner,
  ],
})
export class CatalogueModule {}
