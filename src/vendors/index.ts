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
} from './facts';
export { factsOf, knownModels } from './find-facts';
export { CHECKED as FACTS_CHECKED } from './models/checked';
