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
import { ImportDesk } from './import/import-desk.service';
import { ImportDrafts } from './import/import-drafts.service';
import { ModelsController } from './models.controller';
import { PriceDesk } from './price-desk.service';
import { PricesController } from './prices.controller';
import { ProbeController } from './probe.controller';
import { ProvidersController } from './providers.controller';
import { SandboxController } from './sandbox.controller';
import { VendorModelsController } from './vendor-models.controller';

@Module({
  imports: [WebModule, AuditModule, CatalogueModule, RoutingModule, SecretsModule, SupplierHttpModule],
  controllers: [
    ModelsController,
    PricesController,
    ProvidersController,
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
  providers: [PriceDesk, ImportDesk, ImportDrafts],
})
export class CatalogueAdminModule {}
