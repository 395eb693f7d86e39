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
export { type ToldDifference, toldDifferences } from './told-differences';
export { readToldModel, readToldPage, type ToldModel } from './told-models';
export { forbidsThinking, THINKING_BESIDE_ANSWER, THINKING_FIELDS, thinkingBeside } from './output-fields';
export { overrideFields, readOverride } from './read-override';
export { CHECKED as FACTS_CHECKED } from './models/checked';
export { type ClientTool, clientTools } from './client-tools';
export { type ErrorMeaning, type ErrorWord, errorWords } from './error-words';
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
export { addStoredIds, type StoredId, type StoredKind, type StoredPlace, storedPlaces } from './stored-ids';
