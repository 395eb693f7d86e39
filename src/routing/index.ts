export { CredentialAlarm } from './credential-alarm';
export type { LaneFailure, LaneOutage } from './health/lane-types';
export { LaneHealth, type LaneState } from './health/lane-health';
export type { LanePermit } from './health/lane-permit';
export { type PlannedLane, planRoute, type RoutePlan } from './planner';
export { PROBED_OPERATIONS } from './probe/probe-bodies';
export { LaneProber } from './probe/lane-prober';
export { type ProbeResult, SupplierProbe } from './probe/supplier-probe';
export { RoutingModule } from './routing.module';
export {
  type ComparedModel,
  type ComparedProvider,
  compareWithVendors,
  applicableFacts,
} from './vendor-models/compare';
export { ModelLists } from './vendor-models/model-lists';
export { applyListedFacts } from './vendor-models/apply-facts';
export { Stickiness } from './stickiness';
export {
  CallSecrets,
  type CallFormFile,
  isSteering,
  type KnownFields,
  knownFields,
  limitFields,
  nestedFields,
  type OperationName,
  type CallBody,
  type PictureRule,
  steeringFields,
  type WireDialect,
  withoutListMark,
} from './suppliers/kit';
export { SupplierStyles } from './suppliers/registry';
export { NO_NEEDS, type WireNeeds } from './suppliers/wire';
export { type SentCall, SupplierClient } from './suppliers/supplier-client';
export type { ResponseHead, SupplierExchange } from './suppliers/supplier-exchange';
