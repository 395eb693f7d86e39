import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { WebModule } from '../../web';
import { AdminViewController } from './admin-view.controller';
import { JumpController } from './jump.controller';
import { LegacyRedirectsController } from './legacy-redirects.controller';

@Module({
  imports: [WebModule, CatalogueModule],
  controllers: [AdminViewController, JumpController, LegacyRedirectsController],
})
export class FrameModule {}
