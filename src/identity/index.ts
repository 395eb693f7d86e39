export {
  type AccountMail,
  AccountMailService,
  AccountProof,
  AccountTokens,
  AddressChange,
  AttemptThrottle,
  bindingOf,
  deviceName,
  deviceOf,
  type HandOff,
  HandOffs,
  type InviteDetails,
  InvitesService,
  LinkedIdentities,
  OwnAccountService,
  type AccountMailKind,
  MIN_PASSWORD_LENGTH,
  type ProvenIdentity,
  type SignUpContext,
  MAX_PASSWORD_LENGTH,
  Passkeys,
  PasswordResetService,
  PendingSteps,
  RegistrationService,
  resetSecondFactor,
  sealedFactors,
  SecondFactors,
  type SignedIn,
  type SignInOrigin,
  SignInService,
} from './accounts';
export { AdminViewService } from './admin-view.service';
export { closestAddress, hasAddress } from './account-address';
export { actorOf } from './activity-actor';
export { identityEntities } from './entities';
export { IdentityModule } from './identity.module';
export { MAX_DELEGATES } from './owner-standing.query';
export type { OrganisationName } from './organisation-name.query';
export { OwnProjects, PROJECT_OF_USER, type ProjectName } from './own-projects.query';
export { type Ownership, PayerService, type PriceFactorVersion, type OwnerStanding } from './payer.service';
export { type HelpPage, noticeTopics, type NoticeTopic, PersonalSettings } from './personal-settings.store';
export * from './people';
export { ProfileService } from './profile.service';
export { HostProofs, isProven, type ResellerDomain, ResellerDomains, invalidLogo } from './resellers';
export { SessionsService, type ViewerContext } from './sessions.service';
export { type BillingType, billingTypes } from './billing-type';
export { type ContentConsent, TelemetryContent } from './telemetry-content.service';
export { isInUse, type UserStatus } from './user-status';
export { LegalAcceptance } from './legal-acceptance.entity';
export { Organisation } from './organisation.entity';
export { UserAccount } from './user-account.entity';
