import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform';
import { OWNERS } from './key-scope';

const ENDED = `status = 'revoked', revoked_at = now(), previous_hash = NULL, previous_until = NULL`;

/** What happens to keys when their owner is moved or removed. Every node learns of it within a second. */
@Injectable()
export class KeyTransfers {
  /** How many ended. */
  async endOfProject(tx: Tx, projectId: number): Promise<number> {
    const [, count] = await tx.query<[unknown[], number]>(
      `UPDATE api_key SET ${ENDED}
        WHERE project_id = $1 AND status <> 'revoked'`,
      [projectId],
    );
    return count;
  }

  /** Those that a person has on a project. How many ended. */
  async endOfMember(tx: Tx, projectId: number, userId: number): Promise<number> {
    const [, count] = await tx.query<[unknown[], number]>(
      `UPDATE api_key SET ${ENDED} WHERE project_id = $1 AND user_id = $2 AND status <> 'revoked'`,
      [projectId, userId],
    );
    return count;
  }

  /**
   * Those of a person that belong to an organisation which is not theirs, or to a part of it. The platform's people
   * serve all organisations. How many ended.
   */
  async endElsewhere(tx: Tx, userId: number): Promise<number> {
    const [, count] = await tx.query<[unknown[], number]>(
      `UPDATE api_key SET ${ENDED} WHERE id IN (
         SELECT k.id FROM api_key k ${OWNERS}
          WHERE k.user_id = $1 AND k.status <> 'revoked' AND u.role NOT IN ('platform_admin', 'platform_owner')
            AND EXISTS (SELECT FROM unnest(ARRAY[k.organisation_id, d.organisation_id, p.organisation_id]) AS o (id)
                         WHERE o.id IS NOT NULL AND o.id IS DISTINCT FROM u.organisation_id))`,
      [userId],
    );
    return count;
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
