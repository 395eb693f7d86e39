export { normaliseSpeechUsage, normaliseTranscriptionUsage } from './audio/usage';
export { normaliseChatUsage } from './chat/usage';
export { normaliseEmbeddingsUsage } from './embeddings/usage';
export { normaliseGeminiUsage } from './gemini/usage';
export { normaliseMessagesUsage } from './messages/usage';
export { normaliseRerankUsage } from './rerank/usage';
export { normaliseResponsesUsage } from './responses/usage';
export {
  AnswerCollector,
  type AnswerBlock,
  type CanonicalAnswer,
  type CanonicalEvent,
  type CanonicalRequest,
  collect,
  type DecoderOptions,
  type Dialect,
  type DialectName,
  type Dropped,
  type EncodedRequest,
  type EncoderOptions,
  type Finish,
  type ReplyContext,
  type StreamDecoder,
  type StreamEncoder,
  type SupplierError,
  type SupplierErrorKind,
  supplierFault,
  type Target,
  ToolNames,
  type UnifiedFinish,
} from './canonical';
export { dialects } from './dialects';
