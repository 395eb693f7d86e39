import { MAX_DELEGATES } from '../../identity';
import type { Tx } from '../../platform';

/** Whether delegating to a user would make a circle, and the length of the chain that it would make. */
export async function readDelegateChain(
  tx: Tx,
  userId: number,
  delegateUserId: number,
): Promise<{ readonly circle: boolean; readonly steps: number }> {
  const [chain] = await tx.query<[{ circle: boolean; steps: number }]>(
    `WITH RECURSIVE payer AS (
       SELECT id, delegate_user_id, 1 AS steps FROM user_account WHERE id = $2
       UNION ALL SELECT u.id, u.delegate_user_id, p.steps + 1 FROM payer p JOIN user_account u ON u.id = p.delegate_user_id
        WHERE p.steps <= $3 AND p.id <> $1),
     paid AS (
       SELECT id, 0 AS steps FROM user_account WHERE id = $1
       UNION ALL SELECT u.id, p.steps + 1 FROM paid p JOIN user_account u ON u.delegate_user_id = p.id
        WHERE p.steps <= $3 AND u.id <> $1)
     SELECT (SELECT bool_or(id = $1) FROM payer) AS circle,
            (SELECT max(steps) FROM payer) + (SELECT max(steps) FROM paid) AS steps`,
    [userId, delegateUserId, MAX_DELEGATES],
  );
  return chain;
}
