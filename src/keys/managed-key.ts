import type { LimitState } from '../billing';
import type { Ownership } from '../identity';
import type { BudgetPeriod, Nano, Role } from '../kernel';
import type { PageRequest } from '../platform';
import type { KeyKind, KeyStatus } from './api-key.entity';
import type { KeyValues } from './key-fields';
import type { ModelBudget, NewModelBudget } from './model-budgets';

/** A key that is active in the register but past its time is shown as `expired`. */
export const shownStatuses = ['active', 'disabled', 'revoked', 'expired'] as const;
export type ShownStatus = (typeof shownStatuses)[number];

export interface KeyBudget {
  readonly limit: Nano;
  readonly period: BudgetPeriod;
}

export interface NewKey extends Ownership, Partial<KeyValues> {
  readonly kind: KeyKind;
  readonly name: string;
  /** The maker of the key stands here in words that stay true: `root key`, `user 12`, `first boot`. */
  readonly createdBy: string;
  readonly budget?: KeyBudget | null;
  readonly modelBudgets?: readonly NewModelBudget[];
  /** A form that is sent twice makes one key. */
  readonly creationToken?: string | null;
  /** The name that a gateway file gives it. */
  readonly fileName?: string | null;
}

/** Only what is there changes; null takes a restriction away, and metadata takes the place of the old. */
export interface KeyChanges extends Partial<KeyValues> {
  readonly status?: Exclude<KeyStatus, 'revoked'>;
  readonly budgetLimit?: Nano | null;
  readonly budgetPeriod?: BudgetPeriod;
  /** They replace the old budgets. */
  readonly modelBudgets?: readonly NewModelBudget[];
  /** Only administrators may change the limits of the key. */
  readonly limitsLocked?: boolean;
  readonly fileName?: string | null;
}

/** The person decided something about a key; the name is null once the account is gone. */
export interface KeyDecision {
  readonly userId: number | null;
  /** The present one of the account; null where it is not known. */
  readonly role: Role | null;
  readonly by: string | null;
  readonly at: Date;
  readonly reason: string | null;
}

export interface IssuedKey {
  readonly id: number;
  readonly publicId: string;
  /** The only time the secret exists outside its owner's hands. */
  readonly text: string;
  readonly createdAt: Date;
}

export interface RotatedKey extends IssuedKey {
  readonly name: string;
  /** The secret before this one counts until then; null when it no longer does. */
  readonly previousUntil: Date | null;
}

export interface ManagedKey extends Ownership, KeyValues {
  readonly id: number;
  readonly publicId: string;
  readonly kind: KeyKind;
  readonly status: ShownStatus;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly revokedAt: Date | null;
  /** The person who revoked it; null unless one did so in the portal. */
  readonly revocation: KeyDecision | null;
  /** It is null where it works, or has ended for good. */
  readonly restorableUntil: Date | null;
  readonly previousUntil: Date | null;
  readonly budget: LimitState | null;
  readonly modelBudgets: readonly ModelBudget[];
  /** The administrator who paused it; null where its owner did, or no one. */
  readonly pause: KeyDecision | null;
  /** The administrator whose limits stand; null where the owner may change them. */
  readonly limitsLock: KeyDecision | null;
  /** A gateway file that keeps the key calls it so. */
  readonly fileName: string | null;
}

export interface KeyFilter extends PageRequest {
  readonly kind?: KeyKind | null;
  readonly status?: ShownStatus | null;
  /** It is part of a name, in upper or lower case. */
  readonly name?: string | null;
  readonly projectId?: number | null;
  readonly userId?: number | null;
  readonly organisationId?: number | null;
}

/** A key belongs to these owners, by name. */
export interface KeyOwners {
  readonly organisation: OwnerName | null;
  readonly department: OwnerName | null;
  readonly project: OwnerName | null;
  /** The person has their organisation beside them, which need not be that of the key. */
  readonly user: (OwnerName & { readonly organisationId: number | null }) | null;
}

export interface OwnerName {
  readonly id: number;
  readonly name: string;
}
