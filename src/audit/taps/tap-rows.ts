import type { Database } from '../../platform';
import { entryOf, type RequestEntry } from '../request-record-query';
import type { Failure } from './failure';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
const LONGEST_ERROR = 500;

/** Below the oldest transaction that runs nothing can appear any more. */
const ENDED = 'o.xid < pg_snapshot_xmin(pg_current_snapshot())';
const BEHIND = '(o.xid, o.id) > (t.after_xid, t.after_id)';
const RELEASED = 'claim = NULL, claimed_until = NULL';
const untilAfter = (parameter: string): string =>
  `claimed_until = now() + ${parameter} * interval '1 millisecond'`;

/** Where a tap stands, as every node sees it. */
export interface TapLook {
  readonly name: string;
  /** Negative when it may be delivered to. */
  readonly dueInMs: number;
  readonly isClaimed: boolean;
  /** How long the oldest entry waits; null where none does. */
  readonly oldestMs: number | null;
  /** Somebody asked for dead letters to be delivered once more. */
  readonly isAsked: boolean;
}

/** A place in the outbox. */
export interface OutboxPlace {
  readonly xid: string;
  readonly id: string;
}

/** An entry with its record, which is null where it is no longer kept. */
export interface TapEntry extends OutboxPlace {
  readonly record: RequestEntry | null;
}

export interface LetterEntry {
  readonly id: string;
  readonly record: RequestEntry | null;
}

/** A record that the tap fails for, alone. */
export interface AtFault {
  readonly entry: TapEntry;
  readonly error: string;
}

/** The right of one node to deliver to a tap. */
export interface TapClaim {
  readonly name: string;
  readonly id: string;
  /** It ends by itself so long after it was last confirmed, should the node be killed. */
  readonly leaseMs: number;
}

type Row = Readonly<Record<string, unknown>>;

/** Cursors, claims and dead letters of taps. All times are those of the database's clock. */
export class TapRows {
  constructor(private readonly database: Database) {}

  /** A tap that is new begins now. */
  async announce(names: readonly string[]): Promise<void> {
    await this.database.query(
      `INSERT INTO tap (name, after_xid, after_id)
       SELECT name, pg_snapshot_xmin(pg_current_snapshot()), 0 FROM unnest($1::text[]) AS n (name) ORDER BY name
       ON CONFLICT (name) DO UPDATE SET listed_at = now()`,
      [names],
    );
  }

  look(names: readonly string[]): Promise<TapLook[]> {
    return this.database.query<TapLook>(
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

  /** Returns how often in a row it failed before; undefined when another node was first. */
  async claim({ name, id, leaseMs }: TapClaim): Promise<number | undefined> {
    const [row] = await this.database.rows<{ failures: number }>(
      `UPDATE tap SET claim = $2, ${untilAfter('$3')}
        WHERE name = $1 AND due_at <= now() AND claimed_until > now() IS NOT TRUE RETURNING failures`,
      [name, id, leaseMs],
    );
    return row?.failures;
  }

  /** It is false when the claim ended and another node has it. */
  async renew({ name, id, leaseMs }: TapClaim): Promise<boolean> {
    const rows = await this.database.rows<{ name: string }>(
      `UPDATE tap SET ${untilAfter('$3')} WHERE name = $1 AND claim = $2 RETURNING name`,
      [name, id, leaseMs],
    );
    return rows.length > 0;
  }

  async release({ name, id }: TapClaim): Promise<void> {
    await this.database.query(`UPDATE tap SET ${RELEASED} WHERE name = $1 AND claim = $2`, [name, id]);
  }

  /** The next entries, or those behind a place; nothing without the claim. */
  async next({ name, id }: TapClaim, limit: number, behind?: OutboxPlace): Promise<TapEntry[]> {
    const rows = await this.database.query<Row>(
      `SELECT n.xid::text AS outbox_xid, n.id AS outbox_id, r.*
         FROM tap t CROSS JOIN LATERAL (
           SELECT o.* FROM tap_outbox o
            WHERE ${BEHIND} AND (o.xid, o.id) > ($4::xid8, $5::bigint) AND ${ENDED}
            ORDER BY o.xid, o.id LIMIT $3) n
         LEFT JOIN request_record r ON r.request_id = n.request_id AND r.created_at = n.created_at
        WHERE t.name = $1 AND t.claim = $2 ORDER BY n.xid, n.id`,
      [name, id, limit, behind?.xid ?? '0', behind?.id ?? '0'],
    );
    return rows.map((row) => ({
      xid: row['outbox_xid'] as string,
      id: row['outbox_id'] as string,
      record: recordIn(row),
    }));
  }

  /** The tap is done with these. It is false when the claim was lost: another node delivers them once more. */
  async delivered({ name, id, leaseMs }: TapClaim, entries: readonly TapEntry[]): Promise<boolean> {
    const last = entries.at(-1)!;
    const gone = entries.filter(({ record }) => record === null).length;
    const rows = await this.database.rows<{ name: string }>(
      `UPDATE tap SET after_xid = $4::xid8, after_id = $5, ${untilAfter('$3')}, failures = 0,
              succeeded_at = now(), delivered = delivered + $6::bigint, dropped = dropped + $7::bigint
        WHERE name = $1 AND claim = $2 AND (after_xid, after_id) < ($4::xid8, $5) RETURNING name`,
      [name, id, leaseMs, last.xid, last.id, entries.length - gone, gone],
    );
    return rows.length > 0;
  }

  /**
   * Records that are at fault become dead letters, and the tap goes on behind the last of all entries that it is done
   * with; without others, those are the ones at fault.
   */
  async bury(
    { name, id, leaseMs }: TapClaim,
    found: readonly AtFault[],
    entries: readonly TapEntry[] = found.map(({ entry }) => entry),
  ): Promise<boolean> {
    const { error } = found.at(-1)!;
    const last = entries.at(-1)!;
    const gone = entries.filter(({ record }) => record === null).length;
    const rows = await this.database.query<{ done: boolean }>(
      `WITH went AS (
         UPDATE tap SET after_xid = $4::xid8, after_id = $5, ${untilAfter('$3')}, failures = 0,
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
        found.map(({ entry }) => entry.xid),
        found.map(({ entry }) => entry.id),
        ...[found.map((fault) => bounded(fault.error)), bounded(error)],
        ...[entries.length - gone - found.length, gone],
      ],
    );
    return rows[0]?.done ?? false;
  }

  /** It is tried again after a pause that doubles, of which a part is chance, and not before the receiver wants it. */
  async failed({ name, id }: TapClaim, { words, retryAfterMs }: Failure): Promise<void> {
    const pause = `least(${FIRST_PAUSE_MS} * 2.0 ^ least(failures, 20), ${LONGEST_PAUSE_MS}) * (0.75 + random() / 2)`;
    await this.database.query(
      `UPDATE tap SET ${RELEASED}, failures = failures + 1, last_error = $3, failed_at = now(),
              due_at = now() + greatest(${pause}, $4) * interval '1 millisecond'
        WHERE name = $1 AND claim = $2`,
      [name, id, bounded(words), retryAfterMs],
    );
  }

  /** The dead letter that was asked for first. */
  async letter({ name, id }: TapClaim): Promise<LetterEntry | undefined> {
    const [row] = await this.database.query<Row>(
      `SELECT n.id AS letter_id, r.* FROM tap t CROSS JOIN LATERAL (
         SELECT d.* FROM tap_dead_letter d WHERE d.tap = t.name AND d.replay_at IS NOT NULL ORDER BY d.id LIMIT 1) n
         LEFT JOIN request_record r ON r.request_id = n.request_id AND r.created_at = n.created_at
        WHERE t.name = $1 AND t.claim = $2`,
      [name, id],
    );
    return row === undefined ? undefined : { id: row['letter_id'] as string, record: recordIn(row) };
  }

  async letterDelivered({ name }: TapClaim, letter: LetterEntry): Promise<void> {
    const counted = letter.record === null ? 'dropped = dropped + 1' : 'delivered = delivered + 1';
    await this.database.query(
      `WITH gone AS (DELETE FROM tap_dead_letter WHERE id = $2 RETURNING id)
       UPDATE tap SET ${counted}${letter.record === null ? '' : ', succeeded_at = now()'}
        WHERE name = $1 AND EXISTS (SELECT FROM gone)`,
      [name, letter.id],
    );
  }

  async letterFailed(letter: LetterEntry, error: string): Promise<void> {
    await this.database.query(
      'UPDATE tap_dead_letter SET error = $2, failed_at = now(), replay_at = NULL WHERE id = $1',
      [letter.id, bounded(error)],
    );
  }
}

const recordIn = (row: Row): RequestEntry | null => (row['request_id'] === null ? null : entryOf(row));

const bounded = (error: string): string => error.replaceAll('\0', '').slice(0, LONGEST_ERROR).toWellFormed();
