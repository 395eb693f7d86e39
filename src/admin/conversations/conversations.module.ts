import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit';
import { ChatModule } from '../../chat';
import { WebModule } from '../../web';
import { OverseenConversationController } from './conversation.controller';
import { OverseenConversationsController } from './conversations.controller';

/** The list controller comes first, so that its export path does not match the route of a conversation. */
@Module({
  imports: [WebModule, AuditModule, ChatModule],
  controllers: [OverseenConversationsController, OverseenConversationController],
})
export class ConversationsModule {}
