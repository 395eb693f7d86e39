export {
  CatalogueEditor,
  type LaneInput,
  type ModelInput,
  type ProviderInput,
} from './catalogue-editor.service';
export type { BearerCredential, Credential, CredentialSecret, TokenCredential } from './credential';
export { originsOf, sealedCredentials, oneTimeCredential } from './credential';
export { catalogueEntities } from './catalogue-entities';
export {
  CLIENT_CERTIFICATE,
  type CredentialHealth,
  type CredentialKind,
  ProviderCredential,
} from './credential.entity';
export { egressTerms, ignoredEgressFields, proxyNamesIn } from './egress';
export { type ProviderCertificate, providerCertificates } from './provider-certificates';
export { CredentialEditor, type CredentialInput } from './credential-editor.service';
export { type StoredTokenEvent, type TokenEvent, TokenEvents } from './credential-events.service';
export { CredentialStore, type CredentialState, type PooledToken } from './credential-store.service';
export { CatalogueModule } from './catalogue.module';
export { chosenWire } from './chosen-wire';
export { factsOfLane, isAnthropicApi } from './facts-of-lane';
export { listDepartments, listAccess, type ListedAccess } from './access-list.query';
export { CatalogueService } from './catalogue.service';
export { findModelOfAlias, listAliases } from './alias.query';
export { refuseUnknownRegions } from './known-regions';
export {
  type ListedModel,
  type ListedProvider,
  listModels,
  listPrices,
  listProviders,
} from './model-list.query';
export {
  MODEL_KINDS,
  MODEL_STATES,
  type LaneOrder,
  modelFields,
  type ModelKind,
  type ModelState,
} from './entities';
export { type DepartmentModelAccess, ModelAccess } from './model-access.service';
export { moveModel, reorderModels, writeModelOrder } from './model-order';
export {
  matchesPattern,
  MODEL_PATTERN,
  type ModelPolicy,
  POLICY_MODES,
  type PolicyMode,
} from './model-policy';
export {
  type ModelDetail,
  ModelDetailService,
  mergeRates,
  type ModelDetailLane,
  type ModelDetailPrice,
  type ModelDetailSchedule,
} from './model-detail.service';
export { type ProviderChange, type ProviderDetail, ProviderDetailService } from './provider-detail.service';
export { visibilityEffect } from './provider-visibility.query';
export { aliasesVersion, redirectVersion, refuseManaged, stateVersion } from './model-versions';
export * from './plan';
export { ratesOf, type StoredRates } from './price-codec';
export { PriceService } from './price.service';
export { presentPrice, pricesOf, priceTexts } from './price-presenter';
export {
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
export type { LaneView, ModelAudience, ModelView, PricedLane, PriceView, ProviderView } from './views';

export { foreignMasterKeyIn } from './foreign-master-key';
