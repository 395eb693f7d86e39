export { Lane } from './lane.entity';
export {
  LANE_ORDERS,
  type LaneOrder,
  Model,
  MODEL_KINDS,
  MODEL_STATES,
  type ModelBounds,
  type ModelKind,
  type ModelState,
} from './model.entity';
export { ModelAlias } from './model-alias.entity';
export { PriceSchedule } from './price-schedule.entity';
export { Price, type StoredFees, type StoredMode, type StoredTier } from './price.entity';
export { Provider, type ProviderBreaker, type ProviderTimeouts } from './provider.entity';
