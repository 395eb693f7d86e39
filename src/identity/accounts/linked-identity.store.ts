import { readRows, type TableRow, type Tx } from '../../platform';
import type { LinkedIdentity } from './linked-identity.entity';

/** Records the use of an identity; returns the id of its owner, or null if the identity is not linked. */
export async function recordIdentityUse(
  tx: Tx,
  { issuer, subject }: Pick<LinkedIdentity, 'issuer' | 'subject'>,
): Promise<number | null> {
  const [row] = await readRows<TableRow<'linked_identity', 'user_id'>>(
    tx,
    'UPDATE linked_identity SET last_used_at = now() WHERE issuer = $1 AND subject = $2 RETURNING user_id',
    [issuer, subject],
  );
  return row?.userId ?? null;
}

/** Deletes all identities of a user except the one that opened the account. */
export async function deleteLaterIdentities(tx: Tx, userId: number): Promise<void> {
  await tx.query(
    `DELETE FROM linked_identity WHERE user_id = $1
       AND linked_at <> (SELECT created_at FROM user_account WHERE id = $1)`,
    [userId],
  );
}
