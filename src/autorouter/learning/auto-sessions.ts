import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, RepeatingJob, type Row } from '../../platform';

/** The model that answered a conversation last. */
export interface AutoSession {
  readonly model: string;
  /** It is in ms since 1970. */
  readonly since: number;
  /** The model's supplier probably has so many tokens of the prompt in its cache. */
  readonly cachedTokens: number;
}

/** Results come late where a tool takes long, or a person has to approve it. */
const CALLS_KEPT_HOURS = 24;
const MOST_CALLS = 256;
/** Several models made calls of this id: it says nothing. */
const AMBIGUOUS = '';

const ROWS_AT_ONCE = 10_000;

/** The database keeps the model of each conversation, since its next turn may reach another node. */
@Injectable()
export class AutoSessions {
  constructor(private readonly database: Database) {}

  async of(keyId: number, session: Buffer): Promise<AutoSession | null> {
    const [row] = await this.database.rows<Row<'autorouter_session', 'model, since, cached_tokens'>>(
      `SELECT model, since, cached_tokens FROM autorouter_session
        WHERE key_id = $1 AND session_hash = $2 AND expires_at > now()`,
      [keyId, session],
    );
    if (row === undefined) return null;
    return { ...row, since: row.since.getTime() };
  }

  /** It is safe to repeat. */
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

  /** This model made these tool calls. An id that another model used too tells nothing. Safe to repeat. */
  async called(keyId: number, model: string, calls: readonly string[]): Promise<void> {
    await this.database.query(
      `INSERT INTO autorouter_session AS s (key_id, session_hash, model, cached_tokens, expires_at)
       SELECT $1, hash, $3, 0, now() + make_interval(hours => $4)
         FROM unnest($2::bytea[]) AS hash ORDER BY hash
       ON CONFLICT (key_id, session_hash) DO UPDATE
         SET model = CASE WHEN s.model = $3 OR s.expires_at <= now() THEN $3 ELSE $5 END,
             expires_at = excluded.expires_at`,
      [keyId, callHashes(calls), model, CALLS_KEPT_HOURS, AMBIGUOUS],
    );
  }

  /** The one model that made these calls; null where it is unknown. */
  async callerOf(keyId: number, calls: readonly string[]): Promise<string | null> {
    if (calls.length === 0) return null;
    const rows = await this.database.query<Row<'autorouter_session', 'model'>>(
      `SELECT DISTINCT model FROM autorouter_session
        WHERE key_id = $1 AND session_hash = ANY($2::bytea[]) AND expires_at > now()`,
      [keyId, callHashes(calls)],
    );
    const [row] = rows;
    return row === undefined || rows.length > 1 || row.model === AMBIGUOUS ? null : row.model;
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

/** They are set apart from conversations, which begin with the number of their key. */
const callHashes = (calls: readonly string[]): Buffer[] =>
  [...new Set(calls)].slice(0, MOST_CALLS).map((id) => hash('sha256', `call\n${id}`, 'buffer'));
