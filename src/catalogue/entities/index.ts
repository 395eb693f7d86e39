export { Lane } from './lane.entity';
export { Model } from './model.entity';
export {
  type LaneOrder,
  MODEL_KINDS,
  MODEL_STATES,
  modelFields,
  type ModelKind,
  type ModelState,
  type ModelValues,
} from './model-fields';
export { ModelAlias } from './model-alias.entity';
export { PriceSchedule } from './price-schedule.entity';
export { Price, type StoredFees, type StoredMode, type StoredTier } from './price.entity';
export { Provider, type ProviderBreaker, type ProviderTimeouts } from './provider.entity';
