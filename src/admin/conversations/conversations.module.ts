import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit';
import { ChatModule } from '../../chat';
import { WebModule } from '../../web';
import { OverseenConversationController } from './conversation.controller';
import { OverseenConversationsController } from './conversations.controller';

/** The list is registered first: its file name must not match the route of a conversation. */
@Module({
  imports: [WebModule, AuditModule, ChatModule],
  controllers: [OverseenConversationsController, OverseenConversationController],
})
export class ConversationsModule {}
