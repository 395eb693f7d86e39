export type { BudgetPressure, Candidate, Question, SessionView, UsualTokens } from './appraise';
export { calibrate } from './calibration';
export { type Chosen, type Decision, decide, type NoneChosen } from './decide';
export { type Drift, type DriftLevel, driftLevel, noDrift, noteFamiliarity } from './drift';
export { estimate, familiarity } from './estimate';
export { type Example, loadedExample, type Outcome, type StoredExample, storedExample } from './examples';
export { DECISION_REASONS, type ExplainedCandidate, type Explanation } from './explanation';
export { extractFeatures, type Features, type RequestCounters, type RequestView } from './features';
export { noPacing, pace, type Pacing, projectedSpend } from './pacing';
export {
  type NoveltyGate,
  type Policy,
  ROUTER_ALGORITHMS,
  type RouterAlgorithm,
  type Tuning,
  tuningOf,
} from './policy';
export { type Readiness, readiness } from './readiness';
export { doubtOf, retuned } from './retune';
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
