import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, RepeatingJob, type TableRow } from '../../platform';

export interface AutoSession {
  readonly model: string;
  /** In ms since 1970. */
  readonly since: number;
  /** Prompt tokens that are probably in the supplier's cache. */
  readonly cachedTokens: number;
}

/** Results arrive late if a tool takes long or a user has to approve it. */
const CALL_RETENTION_HOURS = 24;
const MAX_CALLS = 256;
/** Marks an id that calls of several models share, and which therefore identifies none. */
const AMBIGUOUS = '';

const BATCH_SIZE = 10_000;

/** Stores the model of each conversation in the database, since its next turn can reach another node. */
@Injectable()
export class AutoSessions {
  constructor(private readonly database: Database) {}

  async of(keyId: number, session: Buffer): Promise<AutoSession | null> {
    const [row] = await this.database.rows<TableRow<'autorouter_session', 'model, since, cached_tokens'>>(
      `SELECT model, since, cached_tokens FROM autorouter_session
        WHERE key_id = $1 AND session_hash = $2 AND expires_at > now()`,
      [keyId, session],
    );
    if (row === undefined) return null;
    return { ...row, since: row.since.getTime() };
  }

  /** Idempotent. */
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

  /**
   * Records that this model made these tool calls; idempotent. An id that another model also used becomes ambiguous.
   */
  async called(keyId: number, model: string, calls: readonly string[]): Promise<void> {
    await this.database.query(
      `INSERT INTO autorouter_session AS s (key_id, session_hash, model, cached_tokens, expires_at)
       SELECT $1, hash, $3, 0, now() + make_interval(hours => $4)
         FROM unnest($2::bytea[]) AS hash ORDER BY hash
       ON CONFLICT (key_id, session_hash) DO UPDATE
         SET model = CASE WHEN s.model = $3 OR s.expires_at <= now() THEN $3 ELSE $5 END,
             expires_at = excluded.expires_at`,
      [keyId, callHashes(calls), model, CALL_RETENTION_HOURS, AMBIGUOUS],
    );
  }

  /** The only model that made these calls; null if unknown. */
  async callerOf(keyId: number, calls: readonly string[]): Promise<string | null> {
    if (calls.length === 0) return null;
    const rows = await this.database.query<TableRow<'autorouter_session', 'model'>>(
      `SELECT DISTINCT model FROM autorouter_session
        WHERE key_id = $1 AND session_hash = ANY($2::bytea[]) AND expires_at > now()`,
      [keyId, callHashes(calls)],
    );
    const [row] = rows;
    return row === undefined || rows.length > 1 || row.model === AMBIGUOUS ? null : row.model;
  }

  @RepeatingJob({ name: 'autorouter-sessions', cron: '25 * * * *' })
  async deleteExpired(signal: AbortSignal): Promise<void> {
    let deleted: number;
    do {
      const [row] = await this.database.query<{ forgotten: number }>(
        `WITH old AS (
           DELETE FROM autorouter_session WHERE (key_id, session_hash) IN (
             SELECT key_id, session_hash FROM autorouter_session WHERE expires_at < now()
              ORDER BY expires_at LIMIT ${BATCH_SIZE})
           RETURNING key_id)
         SELECT count(*)::integer AS forgotten FROM old`,
      );
      deleted = row?.forgotten ?? 0;
    } while (deleted === BATCH_SIZE && !signal.aborted);
  }
}

/** The prefix separates calls from conversations, whose text starts with the number of their key. */
const callHashes = (calls: readonly string[]): Buffer[] =>
  [...new Set(calls)].slice(0, MAX_CALLS).map((id) => hash('sha256', `call\n${id}`, 'buffer'));
