import { Module } from '@nestjs/common';
import { ViewsModule } from '../../views';
import { WebModule } from '../../web';
import { InviteMails } from './invite-mails';
import { InvitesController } from './invites.controller';

@Module({
  imports: [WebModule, ViewsModule],
  controllers: [InvitesController],
  providers: [InviteMails],
})
export class InvitesModule {}
