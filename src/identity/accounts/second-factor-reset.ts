import { IsNull, Not } from 'typeorm';
import type { Tx } from '../../platform';
import { Session } from '../session.entity';
import type { PendingSteps } from './pending-steps.service';
import { RecoveryCode, SecondFactor } from './second-factor.entity';

/**
 * For a user who lost device and codes: removes enabled factors, recovery codes, sessions and pending steps. Returns
 * false if no factor was enabled.
 */
export async function resetSecondFactor(tx: Tx, userId: number, pending: PendingSteps): Promise<boolean> {
  const { affected } = await tx.getRepository(SecondFactor).delete({ userId, enabledAt: Not(IsNull()) });
  if (affected === 0) return false;
  await tx.getRepository(RecoveryCode).delete({ userId });
  await tx.getRepository(Session).delete({ userId });
  await pending.end(tx, userId);
  return true;
}
