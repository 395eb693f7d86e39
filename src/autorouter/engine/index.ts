export type { Candidate, Question, SessionView } from './appraise';
export { calibrate } from './calibration';
export { type Chosen, type Decision, decide } from './decide';
export { driftLevel, noDrift, noteFamiliarity } from './drift';
export { estimate, familiarity } from './estimate';
export { type Example, loadedExample, type Outcome, type StoredExample, storedExample } from './examples';
export { DECISION_REASONS, type Explanation } from './explanation';
export { extractFeatures, type Features, type RequestCounters } from './features';
export { noPacing, pace, projectedSpend } from './pacing';
export { type NoveltyGate, type Policy, ROUTER_ALGORITHMS, type RouterAlgorithm, tuningOf } from './policy';
export { type Readiness, readiness } from './readiness';
export { retuned } from './retune';
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
