import type { Tx } from '../database';
import { createHook } from './hook';

// Declared below identity, because billing and catalogue, which take part, cannot import identity.

type ErasureHandler = (tx: Tx, userId: number) => Promise<void>;

/** A method that throws if an account cannot be erased yet. Runs before anything is erased. */
export const BeforeUserErasure = createHook<ErasureHandler>();

/** A method that erases a module's data of a user, in the transaction of the erasure. */
export const OnUserErasure = createHook<ErasureHandler>();

export interface OrganisationMerger {
  readonly sourceIds: readonly number[];
  readonly targetId: number;
  /** Payers of all these organisations before the merge. */
  readonly payers: readonly number[];
  /** Payer of the merged organisation; null if each member pays. */
  readonly billingUserId: number | null;
  /** Adds work to be done after the commit. */
  readonly afterwards: (work: () => Promise<void>) => void;
}

/** A method that prepares the wallets of former payers, before the transaction of a merge. */
export const BeforeOrganisationMerge = createHook<(formerPayers: readonly number[]) => Promise<void>>();

/** A method that moves a module's data from the sources to the target, in the transaction of a merge. */
export const OnOrganisationMerge = createHook<(tx: Tx, merger: OrganisationMerger) => Promise<void>>();
