export { normaliseSpeechUsage, normaliseTranscriptionUsage } from './audio/usage';
export { normaliseChatUsage } from './chat/usage';
export { normaliseEmbeddingsUsage } from './embeddings/usage';
export { normaliseGeminiUsage } from './gemini/usage';
export { normaliseMessagesUsage } from './messages/usage';
export { normaliseRerankUsage } from './rerank/usage';
export { normaliseResponsesUsage } from './responses/usage';
