import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform';

/** What happens to keys when their owner is moved or removed. Every node learns of it within a second. */
@Injectable()
export class KeyTransfers {
  /** How many ended. */
  async endOfProject(tx: Tx, projectId: number): Promise<number> {
    const [, count] = await tx.query<[unknown[], number]>(
      `UPDATE api_key SET status = 'revoked', revoked_at = now(), previous_hash = NULL, previous_until = NULL
        WHERE project_id = $1 AND status <> 'revoked'`,
      [projectId],
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
      `UPDATE api_key SET status = 'revoked', revoked_at = now(), previous_hash = NULL, previous_until = NULL
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
