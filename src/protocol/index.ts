export { type ResponseCheck, requireRecords } from './response-check';
export { checkSpeechResponse, checkTranscriptionResponse } from './audio/check-response';
export { findTranscriptionUsage, normaliseTranscriptionUsage, speechUsageByCharacters } from './audio/usage';
export { checkCompletionsResponse } from './chat/check-response';
export { type ResponseKind, missingMembers, correctUsage } from './complete-response';
export { checkEmbeddingsResponse } from './embeddings/check-response';
export { type AllowedTool, requestedFees, FAMILIES, ObservedToolUses } from './fees';
export { findImageUsage, normaliseImageUsage } from './image/usage';
export { findEmbeddingsUsage, normaliseEmbeddingsUsage } from './embeddings/usage';
export { gemini, type SupplierDialect } from './gemini/gemini';
export { findMessagesUsage, mergeMessagesUsage, normaliseMessagesUsage } from './messages/usage';
export { checkRerankResponse } from './rerank/check-response';
export { resultsIn, scoreOf } from './rerank/results';
export { findRerankUsage, normaliseRerankUsage } from './rerank/usage';
export {
  ResponseCollector,
  type ResponseBlock,
  type CanonicalResponse,
  type CanonicalEvent,
  type CanonicalRequest,
  collect,
  type Dialect,
  type DialectName,
  type DecodedResponse,
  type Dropped,
  type EncodedRequest,
  type EncoderOptions,
  type IdRule,
  type JsonObject,
  isSealed,
  laneMark,
  type RequestRepair,
  nineLetterIds,
  type ReasoningPredicate,
  type ReplyContext,
  type StreamDecoder,
  type StreamEncoder,
  type OmittedMember,
  type StreamWatcher,
  type SupplierError,
  isAccountSpent,
  supplierFault,
  type EncodingTarget,
  ToolIds,
  ToolNames,
  type UnifiedFinish,
} from './canonical';
export { dialects } from './dialects';
export { type Picture, type RequestMeasure, textOnlyMeasure } from './measure/measure';
export { errorIn } from './read-response';
export {
  type EventAddition,
  type StreamNormalizer,
  type UsageLocation,
  createStreamNormalizer,
} from './stream-mender';
export { isRecord, pick } from './usage';
