import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { CatalogueModule } from '../catalogue';
import { GatewayModule } from '../gateway';
import { KeysModule } from '../keys';
import { SecretsModule } from '../platform';
import { RoutingModule } from '../routing';
import { AutorouterModule } from '../autorouter';
import { AnswerKeeper } from './answer-keeper';
import { ChatModels } from './chat-models';
import { ChatTurns } from './chat-turns.service';
import { ConversationContent } from './conversation-content';
import { ConversationMessages } from './conversation-messages';
import { ConversationOversight } from './conversation-oversight';
import { ConversationRetention } from './conversation-retention';
import { Conversations } from './conversations.service';
import { OpenTurns } from './open-turns';
import { WebchatKeys } from './webchat-keys.service';

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
    AnswerKeeper,
    ChatModels,
    ChatTurns,
    ConversationContent,
    ConversationMessages,
    ConversationOversight,
    ConversationRetention,
    Conversations,
    OpenTurns,
    WebchatKeys,
  ],
  exports: [
    ChatModels,
    ChatTurns,
    ConversationMessages,
    ConversationOversight,
    ConversationRetention,
    Conversations,
    WebchatKeys,
  ],
})
export class ChatModule {}
