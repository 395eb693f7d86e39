import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { CatalogueModule } from '../catalogue';
import { GatewayModule } from '../gateway';
import { KeysModule } from '../keys';
import { SecretsModule } from '../platform';
import { RoutingModule } from '../routing';
import { AutorouterModule } from '../autorouter';
import { ReplyStore } from './reply.store';
import { ChatModels } from './chat-models';
import { ChatTurnsService } from './chat-turns.service';
import { ConversationContent } from './conversation-content';
import { ConversationMessages } from './conversation-messages';
import { ConversationOversight } from './conversation-oversight';
import { ConversationRetention } from './conversation-retention';
import { ConversationsService } from './conversations.service';
import { OpenTurns } from './open-turns';
import { WebchatKeysService } from './webchat-keys.service';

/** Conversations of the web chat, and the turns in them. */
@Module({
  imports: [
    AuditModule,
    AutorouterModule,
    BillingModule,
    CatalogueModule,
    GatewayModule,
    KeysModule,
    RoutingModule,
    SecretsModule,
  ],
  providers: [
    ReplyStore,
    ChatModels,
    ChatTurnsService,
    ConversationContent,
    ConversationMessages,
    ConversationOversight,
    ConversationRetention,
    ConversationsService,
    OpenTurns,
    WebchatKeysService,
  ],
  exports: [
    ChatModels,
    ChatTurnsService,
    ConversationMessages,
    ConversationOversight,
    ConversationRetention,
    ConversationsService,
    WebchatKeysService,
  ],
})
export class ChatModule {}
