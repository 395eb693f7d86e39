import type { Tx } from '../../platform';
import { hasAddress } from '../account-address';

/**
 * Data that is erased with a user. Ledger, request records and activity log stay, without the name.
 */
const erasures = [
  'DELETE FROM account_token WHERE user_id = $1',
  'DELETE FROM project_member WHERE user_id = $1',
  'DELETE FROM linked_identity WHERE user_id = $1',
  'DELETE FROM passkey WHERE user_id = $1',
  'DELETE FROM recovery_code WHERE user_id = $1',
  'DELETE FROM second_factor WHERE user_id = $1',
  'DELETE FROM user_setting WHERE user_id = $1',
  `UPDATE invite i SET email = 'erased-' || u.id || '@erased.invalid' FROM user_account u
    WHERE u.id = $1 AND ${hasAddress('i.email', 'u.email')}`,
];

export async function eraseRowsOf(tx: Tx, userId: number): Promise<void> {
  for (const statement of erasures) await tx.query(statement, [userId]);
}
