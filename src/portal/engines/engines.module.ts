import { Module } from '@nestjs/common';
import { AutorouterModule } from '../../autorouter';
import { CatalogueModule } from '../../catalogue';
import { QualityModule } from '../../quality';
import { WebModule } from '../../web';
import { AutorouterController } from './autorouter.controller';
import { AutorouterSettingsController } from './autorouter-settings.controller';
import { QualitativeController } from './quality/qualitative.controller';
import { QualityAccess } from './quality/quality-access';

@Module({
  imports: [WebModule, AutorouterModule, CatalogueModule, QualityModule],
  controllers: [AutorouterController, AutorouterSettingsController, QualitativeController],
  providers: [QualityAccess],
  exports: [QualityAccess],
})
export class EnginePagesModule {}
