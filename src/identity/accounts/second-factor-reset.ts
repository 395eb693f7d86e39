import type { Tx } from '../../platform';
import type { PendingSteps } from './pending-steps.service';

/**
 * A person has lost device and codes. The factors that they have switched on end with their recovery codes,
 * with every session, and with what the account began. It is false where nothing was on.
 */
export async function resetSecondFactor(tx: Tx, userId: number, pending: PendingSteps): Promise<boolean> {
  const [, reset] = await tx.query<[unknown, number]>(
    'DELETE FROM second_factor WHERE user_id = $1 AND enabled_at IS NOT NULL',
    [userId],
  );
  if (reset === 0) return false;
  await tx.query('DELETE FROM recovery_code WHERE user_id = $1', [userId]);
  await tx.query('DELETE FROM session WHERE user_id = $1', [userId]);
  await pending.end(tx, userId);
  return true;
}
