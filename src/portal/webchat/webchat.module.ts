import { AutorouterModule } from '../../autorouter';
import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit';
import { ChatModule } from '../../chat';
import { QualityModule } from '../../quality';
import { WebModule } from '../../web';
import { ChatController } from './chat.controller';
import { ConversationsController } from './conversations.controller';
import { WebchatController } from './webchat.controller';

@Module({
  imports: [WebModule, AuditModule, AutorouterModule, ChatModule, QualityModule],
  controllers: [WebchatController, ConversationsController, ChatController],
})
export class WebchatModule {}
