import { ApiKey } from './api-key.entity';

export type { KeyKind, KeyStatus } from './api-key.entity';
export type { Caller } from './caller';
export { KeyDirectory } from './key-directory';
export { KeyGate } from './key-gate';
export { KeyRegister } from './key-register';
export { maskKey } from './key-text';
export { KeysService } from './keys.service';
export { KeysModule } from './keys.module';
export {
  type IssuedKey,
  type KeyBudget,
  type KeyChanges,
  type KeyFilter,
  type KeyPage,
  type ManagedKey,
  type NewKey,
  type RotatedKey,
  type ShownStatus,
  shownStatuses,
} from './managed-key';
export { type KeyLost, OpenCalls } from './open-calls';
export {
  RateLimiter,
  rateRefusal,
  type RateState,
  type RateVerdict,
  setRateHeaders,
} from './rate/rate-limiter.service';
export { RateStorage } from './rate/rate-storage';

export const keyEntities = [ApiKey];
