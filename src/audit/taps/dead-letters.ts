import { Injectable } from '@nestjs/common';
import { Database, Keyset, type Page, type PageRequest, type TableRow, type Tx } from '../../platform';
import type { ActivityActor } from '../activity/activity';
import { ActivityLog } from '../activity/activity-log';
import type { ActionName } from '../activity/action-names';

export interface TapState {
  readonly name: string;
  readonly backlog: string;
  readonly oldestAt: Date | null;
  readonly failures: number;
  readonly lastError: string | null;
  readonly failedAt: Date | null;
  readonly dueAt: Date;
  readonly succeededAt: Date | null;
  readonly listedAt: Date;
  readonly delivered: string;
  readonly dropped: string;
  readonly deadLetters: string;
}

export type DeadLetter = TableRow<
  'tap_dead_letter',
  'id, tap, request_id, created_at, key_id, error, failed_at, replay_at'
>;

export interface LetterSelection {
  readonly tap: string;
  readonly id?: string;
  readonly requestId?: string;
}

const STATES = `
  SELECT t.name, t.failures, t.last_error, t.failed_at, t.due_at, t.succeeded_at, t.listed_at, t.delivered, t.dropped,
         (SELECT count(*) FROM tap_outbox o WHERE (o.xid, o.id) > (t.after_xid, t.after_id)) AS backlog,
         (SELECT o.settled_at FROM tap_outbox o WHERE (o.xid, o.id) > (t.after_xid, t.after_id)
           ORDER BY o.xid, o.id LIMIT 1) AS oldest_at,
         (SELECT count(*) FROM tap_dead_letter d WHERE d.tap = t.name) AS dead_letters
    FROM tap t ORDER BY t.name`;

const SELECTED = 'tap = $1 AND ($2::bigint IS NULL OR id = $2) AND ($3::uuid IS NULL OR request_id = $3)';

const oldestFirst = new Keyset([{ sql: 'id', kind: 'integer' }], 'ascending');

@Injectable()
export class DeadLetters {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  states(): Promise<TapState[]> {
    return this.database.rows<TapState>(STATES);
  }

  async page(tap: string | null, page: PageRequest): Promise<Page<DeadLetter>> {
    const keyset = oldestFirst.clause(page, 3);
    const rows = await this.database.rows<DeadLetter>(
      `SELECT id, tap, request_id, created_at, key_id, error, failed_at, replay_at, ${oldestFirst.positions}
         FROM tap_dead_letter WHERE ($1::text IS NULL OR tap = $1) AND ${keyset.where}
        ORDER BY ${keyset.orderBy} LIMIT $2`,
      [tap, keyset.limit, ...keyset.parameters],
    );
    return oldestFirst.page(rows, page);
  }

  /** Marks letters for redelivery by the node that delivers to the tap. Returns their number. */
  replay(selection: LetterSelection, actor?: ActivityActor): Promise<number> {
    return this.decide('tap.letters-replayed', selection, actor, async (tx) => {
      const rows = await tx.query<[{ id: string }[], number]>(
        `UPDATE tap_dead_letter SET replay_at = now() WHERE ${SELECTED} RETURNING id`,
        valuesOf(selection),
      );
      // A tap that waits after a failure is retried immediately.
      await tx.query('UPDATE tap SET due_at = now() WHERE name = $1', [selection.tap]);
      return rows[0].length;
    });
  }

  drop(selection: LetterSelection, actor?: ActivityActor): Promise<number> {
    return this.decide('tap.letters-dropped', selection, actor, async (tx) => {
      const rows = await tx.query<[{ id: string }[], number]>(
        `DELETE FROM tap_dead_letter WHERE ${SELECTED} RETURNING id`,
        valuesOf(selection),
      );
      return rows[0].length;
    });
  }

  /** Deletes the tap's cursor and dead letters. If a node still has the tap, delivery starts from now. */
  forget(tap: string, actor?: ActivityActor): Promise<number> {
    return this.decide('tap.forgotten', { tap }, actor, async (tx) => {
      const rows = await tx.query<[{ name: string }[], number]>(
        'DELETE FROM tap WHERE name = $1 RETURNING name',
        [tap],
      );
      return rows[0].length;
    });
  }

  /** A test reaches external systems, so it is recorded in the log. */
  async recordTest(tap: string, error: string | null): Promise<void> {
    await this.database.transaction((tx) =>
      this.activity.write(tx, {
        action: 'tap.tested',
        object: { type: 'tap', id: tap },
        concerns: {},
        ...(error === null ? {} : { reason: error }),
      }),
    );
  }

  private decide(
    action: ActionName,
    { tap, requestId }: LetterSelection,
    actor: ActivityActor | undefined,
    change: (tx: Tx) => Promise<number>,
  ): Promise<number> {
    return this.database.transaction(async (tx) => {
      const count = await change(tx);
      if (count === 0) {
        this.activity.reportNoChange();
        return 0;
      }
      await this.activity.write(tx, {
        action,
        object: { type: 'tap', id: tap },
        concerns: {},
        changes: {
          count: [null, count],
          ...(requestId === undefined ? {} : { request_id: [null, requestId] }),
        },
        ...(actor === undefined ? {} : { actor }),
      });
      return count;
    });
  }
}

const valuesOf = ({ tap, id, requestId }: LetterSelection): unknown[] => [tap, id ?? null, requestId ?? null];
