export {
  CHAT_WIRES,
  type Effort,
  EFFORTS,
  type FactsOverride,
  type ModelFacts,
  type PictureFacts,
  SAMPLINGS,
  SCHEMA_RULES,
  THINKING_TYPES,
  type ThinkingFacts,
  VENDORS,
  type Wire,
  WIRES,
} from './facts';
export { factsOf, knownModels } from './find-facts';
export { type LaneFacts, laneFacts, UNKNOWN_FACTS, windowOf } from './lane-facts';
export type { VendorWithGenerations } from './assumed-facts';
export { isEnded } from './models/ended';
export { type ListDifference, listDifferences } from './list-differences';
export { readListedModel, readModelListPage, type VendorListedModel } from './listed-models';
export {
  forbidsThinking,
  ADDITIONAL_THINKING_FIELDS,
  THINKING_FIELDS,
  additionalThinkingTokens,
} from './output-fields';
export { overrideFields, readOverride } from './read-override';
export { CHECKED as FACTS_CHECKED } from './models/checked';
export { type ClientTool, clientTools } from './client-tools';
export { type ErrorMeaning, type ErrorSign, errorSigns } from './error-signs';
export { vendorRoutes } from './routes';
export { meaningOf } from './error-meaning';
export {
  bodyFields,
  type FieldTable,
  isKnownBeta,
  type MeaningfulField,
  meaningOfField,
  requestFields,
} from './request-fields';
export {
  addStoredIds,
  type StoredId,
  type StoredContentKind,
  type StoredIdField,
  storedIdFields,
} from './stored-ids';
