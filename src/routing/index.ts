export { LaneHealth, type LaneState } from './health/lane-health';
export { type PlannedLane, planRoute, type RoutePlan } from './planner';
export { RoutingModule } from './routing.module';
export { SupplierClient } from './suppliers/supplier-client';
export type { AnswerHead, AnswerReader, SupplierExchange } from './suppliers/supplier-exchange';
