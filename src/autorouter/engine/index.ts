export type { Candidate, RoutingQuery, SessionView } from './appraise';
export { calibrate } from './calibration';
export { type ChosenDecision, type Decision, decide } from './decide';
export { driftLevel, noDrift, noteFamiliarity } from './drift';
export { estimate, familiarity } from './estimate';
export {
  type Example,
  loadedExample,
  type ExampleOutcome,
  type StoredExample,
  storedExample,
} from './examples';
export { DECISION_REASONS, type Explanation } from './explanation';
export { extractFeatures, type Features, type RequestCounters } from './features';
export { noPacing, pace, projectedSpend } from './pacing';
export {
  type NoveltyGate,
  type RoutingPolicy,
  ROUTER_ALGORITHMS,
  type RouterAlgorithm,
  tuningOf,
} from './policy';
export { type RouterReadiness, readiness } from './readiness';
export { retunedUtility } from './retune';
export { failureChance, noteSignal, type Reliability } from './reliability';
export {
  type Calibration,
  decay,
  emptyState,
  learn,
  learnAll,
  loadedState,
  modelChanged,
  newestLearned,
  type RouterState,
  type StoredState,
  storedExamples,
  storedState,
} from './state';
export { type WordSalt, wordSalt } from './words';
