import { ProviderCredential } from './credential.entity';
import { Lane, Model, ModelAlias, Price, PriceSchedule, Provider } from './entities';

export {
  CatalogueEditor,
  type LaneInput,
  type ModelInput,
  type OrganisationAccessInput,
  type ProviderInput,
} from './catalogue-editor.service';
export type {
  BearerCredential,
  Credential,
  CredentialSecret,
  HeaderCredential,
  SigningCredential,
  TokenCredential,
} from './credential';
export { originsOf, sealedCredentials, type SecretHome, tokenUrlOf, typedCredential } from './credential';
export { CREDENTIAL_KINDS, type CredentialHealth, type CredentialKind } from './credential.entity';
export { CredentialEditor, type CredentialInput, type CredentialSummary } from './credential-editor.service';
export {
  type StoredTokenEvent,
  type TokenEvent,
  type TokenEventKind,
  type TokenEventQuery,
  TokenEvents,
} from './credential-events.service';
export { CredentialStore, type CredentialState, type PooledToken } from './credential-store.service';
export { CatalogueModule } from './catalogue.module';
export { chosenWire } from './chosen-wire';
export { departmentsOf, listAccess, type ListedAccess } from './access-list';
export { CatalogueService } from './catalogue.service';
export { listAliases } from './catalogue-lists';
export { type ListedModel, type ListedProvider, listModels, listPrices, listProviders } from './model-list';
export {
  MODEL_KINDS,
  MODEL_STATES,
  LANE_ORDERS,
  type LaneOrder,
  type ModelBounds,
  type ModelKind,
  type ModelState,
  type ProviderBreaker,
  type ProviderTimeouts,
} from './entities';
export { type DepartmentAccess, ModelAccess } from './model-access.service';
export { moved, reordered, writeModelOrder } from './model-order';
export {
  matchesPattern,
  MODEL_PATTERN,
  type ModelPolicy,
  POLICY_MODES,
  type PolicyMode,
} from './model-policy';
export {
  type ModelSheet,
  ModelSheets,
  ratesUpon,
  type SheetLane,
  type SheetPrice,
  type SheetSchedule,
} from './model-sheet.service';
export { type ProviderChange, type ProviderSheet, ProviderSheets } from './provider-sheet.service';
export { type VisibilityEffect, visibilityEffect } from './provider-visibility';
export { aliasesVersion, redirectVersion, refuseManaged, stateVersion } from './sheet-version';
export * from './plan';
export { ratesOf, type StoredRates } from './price-codec';
export { type PriceInput, PriceService, type ScheduleInput } from './price.service';
export { presentPrice, pricesOf, priceTexts } from './price-presenter';
export {
  type ApplyDelta,
  type Mispriced,
  mispricedRecords,
  type PriceOverride,
  rerate,
  type RerateDelta,
  type RerateOptions,
  summariseRerate,
} from './rerate';
export { ensureSandbox, removeSandbox, type RemovedSandbox, retireSandbox, SANDBOX_OWNER } from './sandbox';
export { CatalogueSnapshot, isRetired } from './snapshot';
export { loadSnapshot } from './snapshot-loader';
export type {
  LaneView,
  ModelAudience,
  ModelView,
  PricedLane,
  PriceView,
  ProviderView,
  Resolution,
  ScheduleView,
} from './views';

export const catalogueEntities = [
  Provider,
  Model,
  Lane,
  ModelAlias,
  Price,
  PriceSchedule,
  ProviderCredential,
];
