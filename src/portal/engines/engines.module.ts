import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { RoutingModule } from '../../routing';
import { WebModule } from '../../web';
import { AutorouterController } from './autorouter.controller';
import { AutorouterSettingsController } from './autorouter-settings.controller';
import { QualitativeController } from './qualitative.controller';

/** The pages of engines that choose and judge; both say what is on in this version. */
@Module({
  imports: [WebModule, CatalogueModule, RoutingModule],
  controllers: [AutorouterController, AutorouterSettingsController, QualitativeController],
})
export class EnginePagesModule {}
