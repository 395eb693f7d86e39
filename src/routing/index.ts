export { AutoForm, readAutoForm } from './auto/auto-form';
export { AutoLearner } from './auto/auto-learner';
export { AutoPolicies } from './auto/auto-policies';
export { AutoSalts, sealedSalts } from './auto/auto-salts';
export { type AutoSession, AutoSessions } from './auto/auto-sessions';
export { type AnswerSignal, autoSignalChannel, readSignal, writtenSignal } from './auto/auto-signals';
export { AutoStates } from './auto/auto-states';
export { StateUpkeep } from './auto/state-upkeep';
export { type AutoLevel, autoModes, type AutoSettings, type EffectiveAutoPolicy } from './auto/auto-settings';
export { answersAuto, effectivePolicy } from './auto/effective-policy';
export {
  type AutoAudience,
  type AutoSettingsChange,
  type AutoSettingsOwner,
  AutoSettingsStore,
} from './auto/auto-settings.store';
export { isIncluded } from './auto/included';
export { presentAutoPolicy, presentAutoSettings } from './auto/present-auto';
export { AUTO, AutoRouter } from './auto-router';
export * from './autorouter';
export { CredentialAlarm } from './credential-alarm';
export type { LaneFailure, LaneTrouble } from './health/lane-facts';
export { LaneHealth, type LaneState } from './health/lane-health';
export type { LanePermit } from './health/lane-permit';
export { type PlannedLane, planRoute, type RoutePlan } from './planner';
export { PROBED_OPERATIONS, type ProbedOperation } from './probe/probe-bodies';
export { type ProbeResult, SupplierProbe } from './probe/supplier-probe';
export { RoutingModule } from './routing.module';
export {
  type ComparedModel,
  type ComparedProvider,
  compareWithVendors,
  factsToTake,
} from './vendor-models/compare';
export { ModelLists } from './vendor-models/model-lists';
export { takeToldFacts } from './vendor-models/take';
export { Stickiness } from './stickiness';
export {
  CallSecrets,
  type FormFile,
  isSteering,
  type KnownFields,
  knownFields,
  limitFields,
  nestedFields,
  type OperationName,
  type OutgoingBody,
  type PictureRule,
  steeringFields,
  type WireDialect,
  withoutListMark,
} from './suppliers/kit';
export { SupplierStyles } from './suppliers/registry';
export { NO_NEEDS, type WireNeeds } from './suppliers/wire';
export { type SentCall, SupplierClient } from './suppliers/supplier-client';
export type { AnswerHead, SupplierExchange } from './suppliers/supplier-exchange';
