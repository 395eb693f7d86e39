import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit';
import { CatalogueModule } from '../../catalogue';
import { RoutingModule } from '../../routing';
import { WebModule } from '../../web';
import { AccessController } from './access.controller';
import { AliasesController } from './aliases.controller';
import { Answers } from './answers';
import { CataloguePagesController } from './catalogue-pages.controller';
import { ModelsController } from './models.controller';
import { PriceDesk } from './price-desk.service';
import { PricesController } from './prices.controller';
import { ProbeController } from './probe.controller';
import { ProvidersController } from './providers.controller';

@Module({
  imports: [WebModule, AuditModule, CatalogueModule, RoutingModule],
  controllers: [
    ModelsController,
    PricesController,
    ProvidersController,
    ProbeController,
    AliasesController,
    AccessController,
    CataloguePagesController,
  ],
  providers: [Answers, PriceDesk],
})
export class CatalogueAdminModule {}
