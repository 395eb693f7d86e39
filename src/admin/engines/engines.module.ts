import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { RoutingModule } from '../../routing';
import { WebModule } from '../../web';
import { EngineSettingsStore } from './engine-settings';
import { EnginesController } from './engines.controller';

@Module({
  imports: [WebModule, CatalogueModule, RoutingModule],
  controllers: [EnginesController],
  providers: [EngineSettingsStore],
})
export class EnginesModule {}
