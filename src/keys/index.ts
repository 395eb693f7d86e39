import { ApiKey } from './api-key.entity';

export type { KeyKind } from './api-key.entity';
export { type Caller, evaluationCaller, priceFactorAt, recordedFor } from './caller';
export { keyActionOf, KeyEntries, keyFacts } from './key-entries';
export { EffectiveLimits } from './effective-limits';
export { KeyDirectory } from './key-directory';
export { KeyGate } from './key-gate';
export {
  keyChangeBody,
  keyFields,
  type KeyValues,
  LONGEST_NAME,
  newKeyBody,
  rotationFields,
  typedKeyFields,
} from './key-fields';
export { type NewKeyForm, readGrace, readKeyChanges, readNewKey } from './key-form';
export { actingOnKey, type ActingOnKey, mayActOnKey, refuseKeyAct, refuseKeyChanges } from './key-policy';
export { keyOfPage } from './key-of-page';
export { KeyManagement } from './key-management';
export { DatabaseKeys } from './keys-port';
export {
  presentFields,
  presentIssued,
  presentKey,
  presentPortalIssued,
  presentPortalKey,
  presentPortalRotated,
  presentRotated,
} from './key-presenter';
export { KeyRegister, noSuchKey } from './key-register';
export type { KeyScope } from './key-scope';
export { KeyTransfers } from './key-transfers';
export { maskKey } from './key-text';
export { KeysService } from './keys.service';
export { KeysModule } from './keys.module';
export {
  type IssuedKey,
  type KeyBudget,
  type KeyChanges,
  type KeyDecision,
  type KeyFilter,
  type KeyOwners,
  type ManagedKey,
  type NewKey,
  type OwnerName,
  type RotatedKey,
  type ShownStatus,
  shownStatuses,
} from './managed-key';
export { OpenCalls } from './open-calls';
export { acceptPepper, foreignPepperIn } from './pepper';
export {
  parallelRefusal,
  type ParallelState,
  RateLimiter,
  rateRefusal,
  type RateState,
  type RateVerdict,
  setRateHeaders,
  setTokenHeaders,
  tokenRefusal,
} from './rate/rate-limiter.service';
export { RateStorage } from './rate/rate-storage';

export const keyEntities = [ApiKey];
