import type { Tx } from '../../platform';
import type { AlertOwner } from '../catalogue/kinds';

/** Serialises concurrent creations, so that the limit per owner holds. */
export async function lockChannelsOf(tx: Tx, owner: AlertOwner): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtext('alert channels'), coalesce($1::integer, 0))`, [
    owner,
  ]);
}

/** A rule limited to the removed channel applies to all channels again. */
export async function removeFromRules(tx: Tx, owner: AlertOwner, channelId: number): Promise<void> {
  await tx.query(
    `UPDATE alert_rule SET channels = nullif(array_remove(channels, $2), '{}')
      WHERE organisation_id IS NOT DISTINCT FROM $1 AND $2 = ANY (channels)`,
    [owner, channelId],
  );
}
