export { type ChatModel, ChatModels } from './chat-models';
export { ChatModule } from './chat.module';
export { ChatTurnsService } from './chat-turns.service';
export type { ConversationHead, ConversationMessage } from './conversation';
export { type Attachment, ConversationMessages } from './conversation-messages';
export { sealedConversations } from './conversation-content';
export {
  ConversationOversight,
  type OverseenConversation,
  type OversightFilter,
} from './conversation-oversight';
export { ConversationRetention } from './conversation-retention';
export { ConversationsService } from './conversations.service';
export type { RunningTurn, ChatTurn, TurnEnd } from './turn';
export { WebchatKeysService } from './webchat-keys.service';
