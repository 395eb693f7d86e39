import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { WebModule } from '../../web';
import { EngineSettingsStore } from './engine-settings';
import { EnginesController } from './engines.controller';

@Module({
  imports: [WebModule, CatalogueModule],
  controllers: [EnginesController],
  providers: [EngineSettingsStore],
})
export class EnginesModule {}
