import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { WebModule } from '../../web';
import { AccountModule } from '../account/account.module';
import { NoticesController } from './notices.controller';
import { PersonalNotices } from './personal-notices';

@Module({
  imports: [WebModule, CatalogueModule, AccountModule],
  controllers: [NoticesController],
  providers: [PersonalNotices],
  exports: [PersonalNotices],
})
export class NoticesModule {}
