import { Injectable } from '@nestjs/common';
import { type Changes, changesOf } from '../audit';
import { OnOrganisationLeave } from '../identity';
import { fault } from '../kernel';
import {
  BeforeUserErasure,
  OnOrganisationMerge,
  OnUserErasure,
  type OrganisationMerger,
  type Tx,
} from '../platform';
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
   * administrators serve all organisations.
   */
  @OnOrganisationLeave()
  async revokeForeign(tx: Tx, userId: number): Promise<Changes> {
    const revoked = await revokeKeys(
      tx,
      `id IN (
         SELECT k.id FROM api_key k ${JOIN_OWNERS}
          WHERE k.user_id = $1 AND u.role NOT IN ('platform_admin', 'platform_owner')
            AND EXISTS (SELECT FROM unnest(ARRAY[k.organisation_id, d.organisation_id, p.organisation_id]) AS o (id)
                         WHERE o.id IS NOT NULL AND o.id IS DISTINCT FROM u.organisation_id))`,
      [userId],
    );
    return changesOf({ keys_revoked: 0 }, { keys_revoked: revoked });
  }

  /** Requires that a user has no live keys; web chat keys are excluded because they come and go with sessions. */
  @BeforeUserErasure()
  async assertNoneLive(tx: Tx, userId: number): Promise<void> {
    const [{ count } = { count: 0 }] = await tx.query<{ count: number }[]>(
      `SELECT count(*)::integer AS count FROM api_key
        WHERE user_id = $1 AND status <> 'revoked' AND kind <> 'webchat'`,
      [userId],
    );
    if (count === 0) return;
    throw fault('conflict', {
      message: `This account has ${count} keys; revoke them first.`,
      details: { reason: 'keys', count },
    });
  }

  @OnUserErasure()
  async revokeWebchatKey(tx: Tx, userId: number): Promise<void> {
    await tx.query(
      `UPDATE api_key SET ${SET_REVOKED}
        WHERE user_id = $1 AND kind = 'webchat' AND status <> 'revoked'`,
      [userId],
    );
  }

  @OnOrganisationMerge()
  async moveOrganisations(tx: Tx, { sourceIds, targetId }: OrganisationMerger): Promise<void> {
    await tx.query('UPDATE api_key SET organisation_id = $2 WHERE organisation_id = ANY ($1::integer[])', [
      sourceIds,
      targetId,
    ]);
  }
}
