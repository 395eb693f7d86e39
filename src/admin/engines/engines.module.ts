import { Module } from '@nestjs/common';
import { AutorouterModule } from '../../autorouter';
import { CatalogueModule } from '../../catalogue';
import { QualityModule } from '../../quality';
import { WebModule } from '../../web';
import { EnginesController } from './engines.controller';

@Module({
  imports: [WebModule, AutorouterModule, CatalogueModule, QualityModule],
  controllers: [EnginesController],
})
export class EnginesModule {}
