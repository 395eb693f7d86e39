export { AutorouterModule } from './autorouter.module';
export { AutoForm, readAutoForm } from './policy/auto.dto';
export { AutoLearner } from './learning/auto-learner';
export { AutoPolicies } from './policy/auto-policies';
export { AutoSalts, sealedSalts } from './learning/auto-salts';
export { AutoSessions } from './learning/auto-sessions';
export { type AnswerSignal, autoSignalChannel, formatSignal } from './learning/auto-signals';
export { AutoStates } from './learning/auto-states';
export { StateMaintenance } from './learning/state-maintenance';
export {
  type AutoLevel,
  autoModes,
  type AutoSettings,
  type EffectiveAutoPolicy,
} from './policy/auto-settings';
export { answersAuto, effectivePolicy } from './policy/effective-policy';
export {
  type AutoAudience,
  type AutoSettingsChange,
  type AutoSettingsOwner,
  AutoSettingsStore,
} from './policy/auto-settings.store';
export { isIncluded } from './policy/included';
export { presentAutoPolicy, presentAutoSettings } from './policy/present-auto';
export * from './engine';
export { type AutoDecision, familyOf, sealOf } from './choice';
export {
  type ModelChoice,
  type DailyModelChoices,
  type ReasonCount,
  DecisionQuery,
  type DecisionTotals,
  type LoggedDecision,
  type MeasuredDifference,
  type WeeklyDecisions,
} from './decisions/decision.query';
export { type DialOutcome, dialPreview } from './decisions/dial-preview';
export { JudgedDecisions } from './decisions/judged-decisions';
