import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { WebModule } from '../../web';
import { AdminViewController } from './admin-view.controller';
import { JumpController } from './jump.controller';
import { OldAddressesController } from './old-addresses.controller';

/** These parts belong to every page of the dashboard and to none of them. */
@Module({
  imports: [WebModule, CatalogueModule],
  controllers: [AdminViewController, JumpController, OldAddressesController],
})
export class FrameModule {}
