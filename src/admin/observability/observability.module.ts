import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { WebModule } from '../../web';
import { ObservabilityController } from './observability.controller';
import { PoolHealthQuery } from './pool-health';

@Module({
  imports: [WebModule, CatalogueModule],
  controllers: [ObservabilityController],
  providers: [PoolHealthQuery],
})
export class ObservabilityModule {}
