import { AccountProof } from './account-proof.service';
import { AccountMailService } from './account-mail.service';
import { AccountTokens } from './account-tokens.service';
import { AccountCleanup } from './account-cleanup.service';
import { AddressChange } from './address-change.service';
import { AttemptThrottle } from './attempt-throttle.service';
import { HandOffs } from './hand-offs.service';
import { InvitesService } from './invites.service';
import { LinkedIdentities } from './linked-identities.service';
import { OwnAccountService } from './own-account.service';
import { Passkeys } from './passkeys.service';
import { PasswordResetService } from './password-reset.service';
import { PasswordHasher } from './password-hasher.service';
import { PendingSteps } from './pending-steps.service';
import { RegistrationService } from './registration.service';
import { sealedFactors, SecondFactors } from './second-factors.service';
import { SignInService } from './sign-in.service';

export { type AccountMail, AccountMailService, type AccountMailKind } from './account-mail.service';
export { deviceName, deviceOf } from './device';
export { bindingOf, type HandOff } from './hand-offs.service';
export { hasLinkedIdentity } from './provider-only';
export { endPasswords } from './provider-only.store';
export { isMember } from './user-account.query';
export { MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH } from './password-rules';
export { revokeInvitesTo } from './invite.store';
export type { InviteDetails } from './invites.service';
export type { ProvenIdentity, SignUpContext } from './linked-identities.service';
export type { SignedIn, SignInOrigin } from './sign-in.service';
export { resetSecondFactor } from './second-factor-reset';
export {
  AccountProof,
  AccountTokens,
  AddressChange,
  AttemptThrottle,
  HandOffs,
  InvitesService,
  LinkedIdentities,
  OwnAccountService,
  Passkeys,
  PasswordResetService,
  PendingSteps,
  RegistrationService,
  sealedFactors,
  SecondFactors,
  SignInService,
};

export const accountProviders = [
  AccountProof,
  AddressChange,
  SecondFactors,
  AccountMailService,
  AccountTokens,
  AccountCleanup,
  AttemptThrottle,
  HandOffs,
  InvitesService,
  LinkedIdentities,
  OwnAccountService,
  Passkeys,
  PasswordResetService,
  PasswordHasher,
  PendingSteps,
  RegistrationService,
  SignInService,
];
