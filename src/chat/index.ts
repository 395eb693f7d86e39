export { type ChatModel, ChatModels } from './chat-models';
export { ChatModule } from './chat.module';
export { ChatTurns } from './chat-turns.service';
export type { ConversationHead, Message } from './conversation';
export { type Attachment, ConversationMessages } from './conversation-messages';
export { sealedConversations } from './conversation-content';
export {
  ConversationOversight,
  type OverseenConversation,
  type OversightFilter,
} from './conversation-oversight';
export { ConversationRetention } from './conversation-retention';
export { Conversations } from './conversations.service';
export type { RunningTurn, Turn, TurnEnd } from './turn';
export { WebchatKeys } from './webchat-keys.service';
