import type { Tx } from '../platform';

const roleLock = 727_320;

/** Serialises changes of roles and statuses, so that the check for the last owner is reliable. */
export const lockRoles = async (tx: Tx): Promise<void> => {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [roleLock]);
};
