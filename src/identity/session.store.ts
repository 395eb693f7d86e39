import type { Tx } from '../platform';

export async function deleteSessionsIn(tx: Tx, organisationIds: readonly number[]): Promise<void> {
  await tx.query(
    `DELETE FROM session s USING user_account u
      WHERE u.id = s.user_id AND u.organisation_id = ANY ($1::integer[])`,
    [organisationIds],
  );
}
