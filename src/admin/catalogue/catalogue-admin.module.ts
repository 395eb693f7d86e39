import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit';
import { CatalogueModule } from '../../catalogue';
import { SecretsModule, SupplierHttpModule } from '../../platform';
import { RoutingModule } from '../../routing';
import { WebModule } from '../../web';
import { AccessController } from './access.controller';
import { AccessPagesController } from './access-pages.controller';
import { AliasesController } from './aliases.controller';
import { BulkController } from './bulk.controller';
import { CataloguePagesController } from './catalogue-pages.controller';
import { ImportController } from './import/import.controller';
import { ImportService } from './import/import.service';
import { ImportDrafts } from './import/import-drafts.service';
import { ModelsAdminController } from './models.controller';
import { PriceAdminService } from './price-admin.service';
import { PricesController } from './prices.controller';
import { ProbeController } from './probe.controller';
import { ProvidersAdminController } from './providers.controller';
import { SandboxController } from './sandbox.controller';
import { VendorModelsController } from './vendor-models.controller';

@Module({
  imports: [WebModule, AuditModule, CatalogueModule, RoutingModule, SecretsModule, SupplierHttpModule],
  controllers: [
    ModelsAdminController,
    PricesController,
    ProvidersAdminController,
    SandboxController,
    ProbeController,
    VendorModelsController,
    AliasesController,
    AccessController,
    AccessPagesController,
    BulkController,
    CataloguePagesController,
    ImportController,
  ],
  providers: [PriceAdminService, ImportService, ImportDrafts],
})
export class CatalogueAdminModule {}
