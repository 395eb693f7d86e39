import { ApiKey } from './api-key.entity';

export type { KeyKind } from './api-key.entity';
export { type Caller, evaluationCaller, priceFactorAt, recordedAttribution } from './caller';
export { keyActionOf, KeyActivity, loggedKeyFields } from './key-activity';
export { EffectiveLimits } from './effective-limits';
export { KeyDirectory } from './key-directory';
export { KeyAuthenticator } from './key-authenticator';
export {
  keyChangeBody,
  keyFields,
  type KeyValues,
  MAX_NAME_LENGTH,
  newKeyBody,
  rotationFields,
  typedKeyFields,
} from './key-fields';
export { type NewKeyForm, readGrace, readKeyChanges, readNewKey } from './key-form';
export {
  actingUserOn,
  type ActingUser,
  canActOnKey,
  requireKeyAction,
  requireKeyChanges,
} from './key-policy';
export { keyIdField } from './key-id-field';
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
export { KeyRegister, keyNotFound } from './key-register';
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
  type DisplayStatus,
  displayStatuses,
} from './managed-key';
export { OpenCalls } from './open-calls';
export { acceptPepper, findForeignPepper } from './pepper';
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
