import type { Database } from '../../platform';
import { entryOf, type RequestEntry } from '../request-record.query';
import type { Failure } from './failure';

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 300_000;
const MAX_ERROR_LENGTH = 500;

/** No new entry can appear below the oldest running transaction. */
const ENDED = 'o.xid < pg_snapshot_xmin(pg_current_snapshot())';
const BEHIND = '(o.xid, o.id) > (t.after_xid, t.after_id)';
const RELEASED = 'claim = NULL, claimed_until = NULL';
const extendClaim = (parameter: string): string =>
  `claimed_until = now() + ${parameter} * interval '1 millisecond'`;

export interface TapStatus {
  readonly name: string;
  /** Negative if a delivery is allowed. */
  readonly dueInMs: number;
  readonly isClaimed: boolean;
  /** Age of the oldest entry; null if there is none. */
  readonly oldestMs: number | null;
  /** True if redelivery of dead letters was requested. */
  readonly isAsked: boolean;
}

export interface OutboxPosition {
  readonly xid: string;
  readonly id: string;
}

/** An entry with its record; null if the record no longer exists. */
export interface TapEntry extends OutboxPosition {
  readonly record: RequestEntry | null;
}

export interface LetterEntry {
  readonly id: string;
  readonly record: RequestEntry | null;
}

/** A record for which the tap fails even alone. */
export interface FaultyRecord {
  readonly entry: TapEntry;
  readonly error: string;
}

export interface TapClaim {
  readonly name: string;
  readonly id: string;
  /** Time after which an unconfirmed claim expires, in case the node was killed. */
  readonly leaseMs: number;
}

type TapRecordRow = Readonly<Record<string, unknown>>;

/** Cursors, claims and dead letters of taps. All times are those of the database's clock. */
export class TapRows {
  constructor(private readonly database: Database) {}

  /** A new tap starts from now. */
  async announce(names: readonly string[]): Promise<void> {
    await this.database.query(
      `INSERT INTO tap (name, after_xid, after_id)
       SELECT name, pg_snapshot_xmin(pg_current_snapshot()), 0 FROM unnest($1::text[]) AS n (name) ORDER BY name
       ON CONFLICT (name) DO UPDATE SET listed_at = now()`,
      [names],
    );
  }

  readStatuses(names: readonly string[]): Promise<TapStatus[]> {
    return this.database.query<TapStatus>(
      `SELECT t.name, (extract(epoch FROM t.due_at - now()) * 1000)::float8 AS "dueInMs",
              t.claimed_until > now() IS TRUE AS "isClaimed",
              (SELECT extract(epoch FROM now() - o.settled_at)::float8 * 1000 FROM tap_outbox o
                WHERE ${BEHIND} AND ${ENDED} ORDER BY o.xid, o.id LIMIT 1) AS "oldestMs",
              EXISTS (SELECT FROM tap_dead_letter d WHERE d.tap = t.name AND d.replay_at IS NOT NULL) AS "isAsked"
         FROM tap t WHERE t.name = ANY($1)`,
      [names],
    );
  }

  async backlogs(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.query<{ name: string; count: string }>(
      `SELECT t.name, (SELECT count(*) FROM tap_outbox o WHERE ${BEHIND}) AS count FROM tap t WHERE t.name = ANY($1)`,
      [names],
    );
    return new Map(rows.map(({ name, count }) => [name, Number(count)]));
  }

  /** Returns the number of consecutive failures so far; undefined if another node was first. */
  async claim({ name, id, leaseMs }: TapClaim): Promise<number | undefined> {
    const [row] = await this.database.rows<{ failures: number }>(
      `UPDATE tap SET claim = $2, ${extendClaim('$3')}
        WHERE name = $1 AND due_at <= now() AND claimed_until > now() IS NOT TRUE RETURNING failures`,
      [name, id, leaseMs],
    );
    return row?.failures;
  }

  /** Returns false if the claim expired and another node has it. */
  async renew({ name, id, leaseMs }: TapClaim): Promise<boolean> {
    const rows = await this.database.rows<{ name: string }>(
      `UPDATE tap SET ${extendClaim('$3')} WHERE name = $1 AND claim = $2 RETURNING name`,
      [name, id, leaseMs],
    );
    return rows.length > 0;
  }

  async release({ name, id }: TapClaim): Promise<void> {
    await this.database.query(`UPDATE tap SET ${RELEASED} WHERE name = $1 AND claim = $2`, [name, id]);
  }

  /** Returns the next entries, or those after a position; empty without the claim. */
  async next({ name, id }: TapClaim, limit: number, after?: OutboxPosition): Promise<TapEntry[]> {
    const rows = await this.database.query<TapRecordRow>(
      `SELECT n.xid::text AS outbox_xid, n.id AS outbox_id, r.*
         FROM tap t CROSS JOIN LATERAL (
           SELECT o.* FROM tap_outbox o
            WHERE ${BEHIND} AND (o.xid, o.id) > ($4::xid8, $5::bigint) AND ${ENDED}
            ORDER BY o.xid, o.id LIMIT $3) n
         LEFT JOIN request_record r ON r.request_id = n.request_id AND r.created_at = n.created_at
        WHERE t.name = $1 AND t.claim = $2 ORDER BY n.xid, n.id`,
      [name, id, limit, after?.xid ?? '0', after?.id ?? '0'],
    );
    return rows.map((row) => ({
      xid: row['outbox_xid'] as string,
      id: row['outbox_id'] as string,
      record: recordIn(row),
    }));
  }

  /**
   * Moves the cursor past these entries. Returns false if the claim was lost, so that another node delivers them again.
   */
  async markDelivered({ name, id, leaseMs }: TapClaim, entries: readonly TapEntry[]): Promise<boolean> {
    const last = entries.at(-1)!;
    const missing = entries.filter(({ record }) => record === null).length;
    const rows = await this.database.rows<{ name: string }>(
      `UPDATE tap SET after_xid = $4::xid8, after_id = $5, ${extendClaim('$3')}, failures = 0,
              succeeded_at = now(), delivered = delivered + $6::bigint, dropped = dropped + $7::bigint
        WHERE name = $1 AND claim = $2 AND (after_xid, after_id) < ($4::xid8, $5) RETURNING name`,
      [name, id, leaseMs, last.xid, last.id, entries.length - missing, missing],
    );
    return rows.length > 0;
  }

  /**
   * Turns faulty records into dead letters and moves the cursor past the last of `entries`, which defaults to the
   * faulty ones.
   */
  async bury(
    { name, id, leaseMs }: TapClaim,
    faulty: readonly FaultyRecord[],
    entries: readonly TapEntry[] = faulty.map(({ entry }) => entry),
  ): Promise<boolean> {
    const { error } = faulty.at(-1)!;
    const last = entries.at(-1)!;
    const missing = entries.filter(({ record }) => record === null).length;
    const rows = await this.database.query<{ done: boolean }>(
      `WITH went AS (
         UPDATE tap SET after_xid = $4::xid8, after_id = $5, ${extendClaim('$3')}, failures = 0,
                last_error = $9, failed_at = now(), delivered = delivered + $10::bigint, dropped = dropped + $11::bigint,
                succeeded_at = CASE WHEN $10::bigint > 0 THEN now() ELSE succeeded_at END
          WHERE name = $1 AND claim = $2 AND (after_xid, after_id) < ($4::xid8, $5) RETURNING name
       ), buried AS (
         INSERT INTO tap_dead_letter AS d (tap, request_id, created_at, key_id, error)
         SELECT went.name, o.request_id, o.created_at, o.key_id, f.error
           FROM went, unnest($6::xid8[], $7::bigint[], $8::text[]) AS f (xid, id, error)
           JOIN tap_outbox o ON o.xid = f.xid AND o.id = f.id
         ON CONFLICT (tap, request_id, created_at) DO UPDATE
            SET error = excluded.error, failed_at = now(), replay_at = NULL)
       SELECT EXISTS (SELECT FROM went) AS done`,
      [
        ...[name, id, leaseMs, last.xid, last.id],
        faulty.map(({ entry }) => entry.xid),
        faulty.map(({ entry }) => entry.id),
        ...[faulty.map((fault) => truncateError(fault.error)), truncateError(error)],
        ...[entries.length - missing - faulty.length, missing],
      ],
    );
    return rows[0]?.done ?? false;
  }

  /** The tap is retried after an exponential pause with jitter, and not before the receiver allows it. */
  async markFailed({ name, id }: TapClaim, { message: words, retryAfterMs }: Failure): Promise<void> {
    const pause = `least(${FIRST_PAUSE_MS} * 2.0 ^ least(failures, 20), ${MAX_PAUSE_MS}) * (0.75 + random() / 2)`;
    await this.database.query(
      `UPDATE tap SET ${RELEASED}, failures = failures + 1, last_error = $3, failed_at = now(),
              due_at = now() + greatest(${pause}, $4) * interval '1 millisecond'
        WHERE name = $1 AND claim = $2`,
      [name, id, truncateError(words), retryAfterMs],
    );
  }

  async nextLetter({ name, id }: TapClaim): Promise<LetterEntry | undefined> {
    const [row] = await this.database.query<TapRecordRow>(
      `SELECT n.id AS letter_id, r.* FROM tap t CROSS JOIN LATERAL (
         SELECT d.* FROM tap_dead_letter d WHERE d.tap = t.name AND d.replay_at IS NOT NULL ORDER BY d.id LIMIT 1) n
         LEFT JOIN request_record r ON r.request_id = n.request_id AND r.created_at = n.created_at
        WHERE t.name = $1 AND t.claim = $2`,
      [name, id],
    );
    return row === undefined ? undefined : { id: row['letter_id'] as string, record: recordIn(row) };
  }

  async markLetterDelivered({ name }: TapClaim, letter: LetterEntry): Promise<void> {
    const counter = letter.record === null ? 'dropped = dropped + 1' : 'delivered = delivered + 1';
    await this.database.query(
      `WITH gone AS (DELETE FROM tap_dead_letter WHERE id = $2 RETURNING id)
       UPDATE tap SET ${counter}${letter.record === null ? '' : ', succeeded_at = now()'}
        WHERE name = $1 AND EXISTS (SELECT FROM gone)`,
      [name, letter.id],
    );
  }

  async markLetterFailed(letter: LetterEntry, error: string): Promise<void> {
    await this.database.query(
      'UPDATE tap_dead_letter SET error = $2, failed_at = now(), replay_at = NULL WHERE id = $1',
      [letter.id, truncateError(error)],
    );
  }
}

const recordIn = (row: TapRecordRow): RequestEntry | null =>
  row['request_id'] === null ? null : entryOf(row);

const truncateError = (error: string): string =>
  error.replaceAll('\0', '').slice(0, MAX_ERROR_LENGTH).toWellFormed();
