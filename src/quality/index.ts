export { EvaluationLedger } from './ledger/evaluation-ledger';
export { QualityModule } from './quality.module';
export { availabilities, type QualitySettings, usualQualitySettings } from './settings/quality-settings';
