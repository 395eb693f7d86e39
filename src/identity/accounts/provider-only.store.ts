import type { Tx } from '../../platform';

/** Enforces providers: ends sessions that a password might have opened, and voids links that set one. */
export async function endPasswords(tx: Tx, organisationId: number): Promise<void> {
  const memberIds = 'SELECT id FROM user_account WHERE organisation_id = $1';
  await tx.query(`DELETE FROM session WHERE user_id IN (${memberIds})`, [organisationId]);
  await tx.query(
    `DELETE FROM account_token WHERE purpose IN ('reset_password', 'second_factor') AND user_id IN (${memberIds})`,
    [organisationId],
  );
}
