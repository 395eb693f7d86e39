export { SampleContent, sealedSamples } from './content/sample-content';
export { AnswerFeedback, type AnsweredRequest, type Thumb, thumbs } from './feedback/answer-feedback';
export { judgeVersion } from './judge/judge-prompt';
export { RUBRIC_VERSION } from './judge/rubric';
export { EvaluationLedger } from './ledger/evaluation-ledger';
export { EndedSamples } from './loop/ended-samples';
export { QualityModule } from './quality.module';
export {
  type ModelReport,
  type QualityReport,
  buildReports,
  type ScoredAnswer,
  usableReport,
} from './report/quality-report';
export { type SampledShare, type ScoreFilter, ScoreQuery } from './scores/score.query';
export { presentScore, scoreFileColumns, scoreFileRow, type ScoreRow } from './scores/score-row';
export {
  availabilities,
  isEnvelopeField,
  isSampling,
  type QualityEnvelope,
  type QualitySettings,
} from './settings/quality-settings';
export { QualitySettingsStore } from './settings/quality-settings.store';
