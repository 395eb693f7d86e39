import { fault } from '../../kernel';
import type { Tx } from '../../platform';

type AccountReader = Pick<Tx, 'query'>;

/** True for a user whose organisation signs in through a provider, so that passwords are disabled. */
export async function signsInByProviderOnly(tx: AccountReader, userId: number): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    'SELECT 1 FROM user_account u JOIN organisation o ON o.id = u.organisation_id AND o.sso_only WHERE u.id = $1',
    [userId],
  );
  return rows.length > 0;
}

/** Throws the same error on every route that sets or requires a password. */
export async function refuseProviderOnly(tx: AccountReader, userId: number): Promise<void> {
  if (await signsInByProviderOnly(tx, userId)) throw fault('sso_only');
}

export async function hasLinkedIdentity(tx: AccountReader, userId: number): Promise<boolean> {
  return (
    (await tx.query<unknown[]>('SELECT 1 FROM linked_identity WHERE user_id = $1 LIMIT 1', [userId])).length >
    0
  );
}

/** Enforces providers: ends sessions that a password might have opened, and voids links that set one. */
export async function endPasswords(tx: Tx, organisationId: number): Promise<void> {
  const memberIds = 'SELECT id FROM user_account WHERE organisation_id = $1';
  await tx.query(`DELETE FROM session WHERE user_id IN (${memberIds})`, [organisationId]);
  await tx.query(
    `DELETE FROM account_token WHERE purpose IN ('reset_password', 'second_factor') AND user_id IN (${memberIds})`,
    [organisationId],
  );
}
