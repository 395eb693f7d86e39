export { SampleContent, sealedSamples } from './content/sample-content';
export {
  type ChoiceMade,
  type ChosenOnDay,
  type DecidingReason,
  DecisionQuery,
  type DecisionTotals,
  type MadeDecision,
  type MeasuredDifference,
  type WeekOfDecisions,
} from './decisions/decision-query';
export { type DialOutcome, dialPreview } from './decisions/dial-preview';
export { JudgedDecisions } from './decisions/judged-decisions';
export { AnswerFeedback, type AnsweredRequest, type Thumb, thumbs } from './feedback/answer-feedback';
export { judgeVersion } from './judge/judge-prompt';
export { RUBRIC_VERSION } from './judge/rubric';
export { EvaluationLedger } from './ledger/evaluation-ledger';
export { EndedSamples } from './loop/ended-samples';
export { moveEvaluation } from './loop/merged-evaluation';
export { QualityModule } from './quality.module';
export {
  type ModelReport,
  type QualityReport,
  reportsOf,
  type ScoredAnswer,
  usableReport,
} from './report/quality-report';
export type { Interval } from './report/statistics';
export { type SampledShare, type ScoreFilter, ScoreQuery } from './scores/score-query';
export { presentScore, scoreFileColumns, scoreFileRow, type ScoreRow } from './scores/score-row';
export {
  availabilities,
  isEnvelopeField,
  isSampling,
  type QualityEnvelope,
  type QualitySettings,
} from './settings/quality-settings';
export { QualitySettingsStore } from './settings/quality-settings.store';
