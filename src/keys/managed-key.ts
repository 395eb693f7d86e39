import type { LimitState } from '../billing';
import type { Ownership } from '../identity';
import type { BudgetPeriod, Nano, UserRole } from '../kernel';
import type { PageRequest } from '../platform';
import type { KeyKind, KeyStatus } from './api-key.entity';
import type { KeyValues } from './key-fields';
import type { ModelBudget, NewModelBudget } from './model-budgets';

/** An active key past its expiry is shown as `expired`. */
export const displayStatuses = ['active', 'disabled', 'revoked', 'expired'] as const;
export type DisplayStatus = (typeof displayStatuses)[number];

export interface KeyBudget {
  readonly limit: Nano;
  readonly period: BudgetPeriod;
}

export interface NewKey extends Ownership, Partial<KeyValues> {
  readonly kind: KeyKind;
  readonly name: string;
  /** Permanent description of the creator: `root key`, `user 12`, `first boot`. */
  readonly createdBy: string;
  readonly budget?: KeyBudget | null;
  readonly modelBudgets?: readonly NewModelBudget[];
  /** Ensures that a form sent twice creates one key. */
  readonly creationToken?: string | null;
  readonly fileName?: string | null;
}

/** Absent fields stay unchanged; null removes a restriction, and metadata is replaced completely. */
export interface KeyChanges extends Partial<KeyValues> {
  readonly status?: Exclude<KeyStatus, 'revoked'>;
  readonly budgetLimit?: Nano | null;
  readonly budgetPeriod?: BudgetPeriod;
  readonly modelBudgets?: readonly NewModelBudget[];
  /** If true, only administrators can change the limits of the key. */
  readonly limitsLocked?: boolean;
  readonly fileName?: string | null;
}

/** Decision of a user about a key; the name is null once the account is gone. */
export interface KeyDecision {
  readonly userId: number | null;
  /** Current role of the account; null if unknown. */
  readonly role: UserRole | null;
  readonly by: string | null;
  readonly at: Date;
  readonly reason: string | null;
}

export interface IssuedKey {
  readonly id: number;
  readonly publicId: string;
  /** Text of the key, including the secret, which is not stored. */
  readonly text: string;
  readonly createdAt: Date;
}

export interface RotatedKey extends IssuedKey {
  readonly name: string;
  /** Until when the previous secret is valid; null if it no longer is. */
  readonly previousUntil: Date | null;
}

export interface ManagedKey extends Ownership, KeyValues {
  readonly id: number;
  readonly publicId: string;
  readonly kind: KeyKind;
  readonly status: DisplayStatus;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly revokedAt: Date | null;
  /** Set only if a user revoked the key in the portal. */
  readonly revocation: KeyDecision | null;
  /** Null unless the key is revoked and can be restored. */
  readonly restorableUntil: Date | null;
  readonly previousUntil: Date | null;
  readonly budget: LimitState | null;
  readonly modelBudgets: readonly ModelBudget[];
  /** Pause by an administrator; null if the owner paused the key, or if it is not paused. */
  readonly pause: KeyDecision | null;
  /** Lock of the limits by an administrator; null if the owner can change them. */
  readonly limitsLock: KeyDecision | null;
  /** Name of the key in a gateway file; null if no file manages it. */
  readonly fileName: string | null;
}

export interface KeyFilter extends PageRequest {
  readonly kind?: KeyKind | null;
  readonly status?: DisplayStatus | null;
  readonly name?: string | null;
  readonly projectId?: number | null;
  readonly userId?: number | null;
  readonly organisationId?: number | null;
}

export interface KeyOwners {
  readonly organisation: OwnerName | null;
  readonly department: OwnerName | null;
  readonly project: OwnerName | null;
  /** The user's organisation is included, because it can differ from that of the key. */
  readonly user: (OwnerName & { readonly organisationId: number | null }) | null;
}

export interface OwnerName {
  readonly id: number;
  readonly name: string;
}
