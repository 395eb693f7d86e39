export {
  CHAT_WIRES,
  type ChatWire,
  type Effort,
  EFFORTS,
  type FactsOverride,
  type ModelFacts,
  type PictureFacts,
  SAMPLINGS,
  type Sampling,
  SCHEMA_RULES,
  type SchemaRules,
  THINKING_TYPES,
  type ThinkingFacts,
  type ThinkingType,
  type Vendor,
  VENDORS,
  type Wire,
  WIRES,
} from './facts';
export { factsOf, knownModels } from './find-facts';
export { type LaneFacts, laneFacts, UNKNOWN_FACTS, windowOf } from './lane-facts';
export { THINKING_BESIDE_ANSWER, thinkingBeside } from './output-fields';
export { overrideFields, readOverride } from './read-override';
export { CHECKED as FACTS_CHECKED } from './models/checked';
export { type ClientTool, clientTools } from './client-tools';
export { type ErrorMeaning, type ErrorWord, errorWords } from './error-words';
export { vendorRoutes } from './routes';
export { meaningOf } from './error-meaning';
