import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform';
import { OWNERS } from './key-scope';

const ENDED = `status = 'revoked', revoked_at = now(), previous_hash = NULL, previous_until = NULL`;

/**
 * Ends keys for good; those that were revoked before can no longer be restored. The answer counts the keys
 * that ended.
 */
async function end(tx: Tx, which: string, parameters: readonly number[]): Promise<number> {
  const [, count] = await tx.query<[unknown[], number]>(
    `UPDATE api_key SET ${ENDED} WHERE ${which} AND status <> 'revoked'`,
    [...parameters],
  );
  await tx.query(`UPDATE api_key SET revoked_from = NULL WHERE ${which} AND revoked_from IS NOT NULL`, [
    ...parameters,
  ]);
  return count;
}

/** Keys follow their owner, who is moved or removed. Every node learns of it within a second. */
@Injectable()
export class KeyTransfers {
  /** The answer counts the keys that ended. */
  endOfProject(tx: Tx, projectId: number): Promise<number> {
    return end(tx, 'project_id = $1', [projectId]);
  }

  /** Those that a person has on a project. The answer counts the keys that ended. */
  endOfMember(tx: Tx, projectId: number, userId: number): Promise<number> {
    return end(tx, 'project_id = $1 AND user_id = $2', [projectId, userId]);
  }

  /**
   * Those of a person that belong to an organisation which is not theirs, or to a part of it. The platform's
   * people serve all organisations. The answer counts the keys that ended.
   */
  endElsewhere(tx: Tx, userId: number): Promise<number> {
    return end(
      tx,
      `id IN (
         SELECT k.id FROM api_key k ${OWNERS}
          WHERE k.user_id = $1 AND u.role NOT IN ('platform_admin', 'platform_owner')
            AND EXISTS (SELECT FROM unnest(ARRAY[k.organisation_id, d.organisation_id, p.organisation_id]) AS o (id)
                         WHERE o.id IS NOT NULL AND o.id IS DISTINCT FROM u.organisation_id))`,
      [userId],
    );
  }

  /** Keys that people have made. That of the web chat comes and goes with sessions and is not one of them. */
  async liveOfUser(tx: Tx, userId: number): Promise<number> {
    const rows = await tx.query<{ count: number }[]>(
      `SELECT count(*)::integer AS count FROM api_key
        WHERE user_id = $1 AND status <> 'revoked' AND kind <> 'webchat'`,
      [userId],
    );
    return rows[0]?.count ?? 0;
  }

  async endWebchatKey(tx: Tx, userId: number): Promise<void> {
    await tx.query(
      `UPDATE api_key SET ${ENDED}
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
