import type { Tx } from '../../platform';
import type { PendingSteps } from './pending-steps.service';

/**
 * For a user who lost device and codes: removes enabled factors, recovery codes, sessions and pending steps. Returns
 * false if no factor was enabled.
 */
export async function resetSecondFactor(tx: Tx, userId: number, pending: PendingSteps): Promise<boolean> {
  const [, affected] = await tx.query<[unknown, number]>(
    'DELETE FROM second_factor WHERE user_id = $1 AND enabled_at IS NOT NULL',
    [userId],
  );
  if (affected === 0) return false;
  await tx.query('DELETE FROM recovery_code WHERE user_id = $1', [userId]);
  await tx.query('DELETE FROM session WHERE user_id = $1', [userId]);
  await pending.end(tx, userId);
  return true;
}
