import type { Tx } from '../../platform';

/** Organisation, project or account for which the user pays; undefined if there are none. */
export async function findPaidObject(
  tx: Tx,
  userId: number,
): Promise<{ readonly what: string; readonly name: string } | undefined> {
  const [row] = await tx.query<{ what: string; name: string }[]>(
    `SELECT 'organisation' AS what, name FROM organisation WHERE billing_user_id = $1
     UNION ALL SELECT 'project', name FROM project WHERE billing_user_id = $1 AND archived_at IS NULL
     UNION ALL SELECT 'account', email FROM user_account WHERE delegate_user_id = $1 LIMIT 1`,
    [userId],
  );
  return row;
}
