export { type AnswerCheck, recordsIn } from './answer-check';
export { checkSpeechAnswer, checkTranscriptionAnswer } from './audio/check-answer';
export { findTranscriptionUsage, normaliseTranscriptionUsage, speechUsageByCharacters } from './audio/usage';
export { checkCompletionsAnswer } from './chat/check-answer';
export { type AnswerForm, membersLacking, mendedUsage } from './complete-answer';
export { checkEmbeddingsAnswer } from './embeddings/check-answer';
export { type AllowedTool, askedFees, FAMILIES, ServedUses } from './fees';
export { findImageUsage, normaliseImageUsage } from './image/usage';
export { findEmbeddingsUsage, normaliseEmbeddingsUsage } from './embeddings/usage';
export { gemini, type SupplierSide } from './gemini/gemini';
export { findMessagesUsage, mergeMessagesUsage, normaliseMessagesUsage } from './messages/usage';
export { checkRerankAnswer } from './rerank/check-answer';
export { resultsIn, scoreOf } from './rerank/results';
export { findRerankUsage, normaliseRerankUsage } from './rerank/usage';
export {
  AnswerCollector,
  type AnswerBlock,
  type CanonicalAnswer,
  type CanonicalEvent,
  type CanonicalRequest,
  collect,
  type Dialect,
  type DialectName,
  type DecodedAnswer,
  type Dropped,
  type EncodedRequest,
  type EncoderOptions,
  type IdRule,
  type JsonObject,
  isSealed,
  laneMark,
  type Mended,
  nineLetterIds,
  type ReadsReasoning,
  type ReplyContext,
  type StreamDecoder,
  type StreamEncoder,
  type OmittedMember,
  type StreamWatcher,
  type SupplierError,
  isAccountSpent,
  supplierFault,
  type Target,
  ToolIds,
  ToolNames,
  type UnifiedFinish,
} from './canonical';
export { dialects } from './dialects';
export { type Picture, type RequestMeasure, textAlone } from './measure/measure';
export { errorIn } from './read-answer';
export { type Lack, type StreamMender, type UsagePlace, streamMender } from './stream-mender';
export { isRecord, pick } from './usage';
