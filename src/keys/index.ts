import { ApiKey } from './api-key.entity';

export type { KeyKind, KeyStatus } from './api-key.entity';
export { type Caller, evaluationCaller, recordedFor } from './caller';
export { KeyDirectory } from './key-directory';
export { KeyGate } from './key-gate';
export { type NewKeyForm, readGrace, readKeyChanges, readNewKey } from './key-form';
export { KeyManagement } from './key-management';
export { presentBudget, presentIssued, presentKey, presentRegions, presentRotated } from './key-presenter';
export { KeyRegister } from './key-register';
export type { KeyScope } from './key-scope';
export { KeyTransfers } from './key-transfers';
export { maskKey } from './key-text';
export { KeysService } from './keys.service';
export { KeysModule } from './keys.module';
export {
  type IssuedKey,
  type KeyBudget,
  type KeyChanges,
  type KeyFilter,
  type KeyUsage,
  type ManagedKey,
  type NewKey,
  type RotatedKey,
  type ShownStatus,
  shownStatuses,
  type UsageWindow,
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
