import { Injectable } from '@nestjs/common';
import { Database, RepeatingJob } from '../../platform';

/** The model that answered a conversation last. */
export interface AutoSession {
  readonly model: string;
  /** ms since 1970 */
  readonly since: number;
  /** Tokens of the prompt that the model's supplier probably has in its cache. */
  readonly cachedTokens: number;
}

const ROWS_AT_ONCE = 10_000;

/** Which model each conversation has: in the database, since its next turn may reach another node. */
@Injectable()
export class AutoSessions {
  constructor(private readonly database: Database) {}

  async of(keyId: number, session: Buffer): Promise<AutoSession | null> {
    const [row] = await this.database.query<{ model: string; since: Date; cached_tokens: number }>(
      `SELECT model, since, cached_tokens FROM autorouter_session
        WHERE key_id = $1 AND session_hash = $2 AND expires_at > now()`,
      [keyId, session],
    );
    if (row === undefined) return null;
    return { model: row.model, since: row.since.getTime(), cachedTokens: row.cached_tokens };
  }

  /** Safe to repeat. */
  async remember(
    keyId: number,
    session: Buffer,
    { model, cachedTokens, minutes }: { model: string; cachedTokens: number; minutes: number },
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO autorouter_session AS s (key_id, session_hash, model, cached_tokens, expires_at)
       VALUES ($1, $2, $3, $4, now() + make_interval(mins => $5))
       ON CONFLICT (key_id, session_hash) DO UPDATE SET model = $3, cached_tokens = $4,
         since = CASE WHEN s.model = $3 THEN s.since ELSE now() END, expires_at = now() + make_interval(mins => $5)`,
      [keyId, session, model, cachedTokens, minutes],
    );
  }

  @RepeatingJob({ name: 'autorouter-sessions', cron: '25 * * * *' })
  async forgetOld(signal: AbortSignal): Promise<void> {
    let forgotten: number;
    do {
      const [row] = await this.database.query<{ forgotten: number }>(
        `WITH old AS (
           DELETE FROM autorouter_session WHERE (key_id, session_hash) IN (
             SELECT key_id, session_hash FROM autorouter_session WHERE expires_at < now()
              ORDER BY expires_at LIMIT ${ROWS_AT_ONCE})
           RETURNING key_id)
         SELECT count(*)::integer AS forgotten FROM old`,
      );
      forgotten = row?.forgotten ?? 0;
    } while (forgotten === ROWS_AT_ONCE && !signal.aborted);
  }
}
