import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit';
import { ChatModule } from '../../chat';
import { WebModule } from '../../web';
import { OverseenConversationController } from './conversation.controller';
import { OverseenConversationsController } from './conversations.controller';

/** The list comes first: its file is not a conversation. */
@Module({
  imports: [WebModule, AuditModule, ChatModule],
  controllers: [OverseenConversationsController, OverseenConversationController],
})
export class ConversationsModule {}
