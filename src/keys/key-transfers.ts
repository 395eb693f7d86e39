import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform';
import { JOIN_OWNERS } from './key-scope';

const SET_REVOKED = `status = 'revoked', revoked_at = now(), previous_hash = NULL, previous_until = NULL`;

/**
 * Revokes keys permanently; keys that were revoked before can no longer be restored. Returns the number of newly
 * revoked keys.
 */
async function revokeKeys(tx: Tx, condition: string, parameters: readonly number[]): Promise<number> {
  const [, count] = await tx.query<[unknown[], number]>(
    `UPDATE api_key SET ${SET_REVOKED} WHERE ${condition} AND status <> 'revoked'`,
    [...parameters],
  );
  await tx.query(`UPDATE api_key SET revoked_from = NULL WHERE ${condition} AND revoked_from IS NOT NULL`, [
    ...parameters,
  ]);
  return count;
}

@Injectable()
export class KeyTransfers {
  revokeOfProject(tx: Tx, projectId: number): Promise<number> {
    return revokeKeys(tx, 'project_id = $1', [projectId]);
  }

  revokeOfMember(tx: Tx, projectId: number, userId: number): Promise<number> {
    return revokeKeys(tx, 'project_id = $1 AND user_id = $2', [projectId, userId]);
  }

  /**
   * Revokes the keys of a user that belong to an organisation other than theirs, or to a part of one. Platform
   * administrators serve all organisations. Returns the number of revoked keys.
   */
  revokeForeign(tx: Tx, userId: number): Promise<number> {
    return revokeKeys(
      tx,
      `id IN (
         SELECT k.id FROM api_key k ${JOIN_OWNERS}
          WHERE k.user_id = $1 AND u.role NOT IN ('platform_admin', 'platform_owner')
            AND EXISTS (SELECT FROM unnest(ARRAY[k.organisation_id, d.organisation_id, p.organisation_id]) AS o (id)
                         WHERE o.id IS NOT NULL AND o.id IS DISTINCT FROM u.organisation_id))`,
      [userId],
    );
  }

  /** Counts keys created by users; web chat keys are excluded because they come and go with sessions. */
  async countLiveOfUser(tx: Tx, userId: number): Promise<number> {
    const rows = await tx.query<{ count: number }[]>(
      `SELECT count(*)::integer AS count FROM api_key
        WHERE user_id = $1 AND status <> 'revoked' AND kind <> 'webchat'`,
      [userId],
    );
    return rows[0]?.count ?? 0;
  }

  async revokeWebchatKey(tx: Tx, userId: number): Promise<void> {
    await tx.query(
      `UPDATE api_key SET ${SET_REVOKED}
        WHERE user_id = $1 AND kind = 'webchat' AND status <> 'revoked'`,
      [userId],
    );
  }

  async moveOrganisations(tx: Tx, from: readonly number[], to: number): Promise<void> {
    await tx.query('UPDATE api_key SET organisation_id = $2 WHERE organisation_id = ANY ($1::integer[])', [
      from,
      to,
    ]);
  }
}
