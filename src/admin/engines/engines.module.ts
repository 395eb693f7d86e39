import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { QualityModule } from '../../quality';
import { RoutingModule } from '../../routing';
import { WebModule } from '../../web';
import { EnginesController } from './engines.controller';

@Module({
  imports: [WebModule, CatalogueModule, QualityModule, RoutingModule],
  controllers: [EnginesController],
})
export class EnginesModule {}
