import { insertRequestRecords, type WrittenRecord } from '../../../audit';
import { HOUR_MS } from '../../../kernel';
import type { Database, TableRow, Tx } from '../../../platform';
import type { LimitRef, ScopeKind } from '../../scope';
import { ChargeTotals } from './charge-totals';
import {
  type DrawRequest,
  type SettlementRequest,
  type Beat,
  CalledOff,
  type DrawResult,
  LeaseGone,
  type MoneyStore,
  type SlicePortion,
  RefusedByStore,
  type SettlementResult,
  type UnreadJournal,
} from './money-store';

interface DrawRow {
  window_id: string | null;
  granted: string | null;
  limit_left: string;
  pool_left: string;
  elsewhere: string;
  starts_ms: string | null;
  ends_ms: string | null;
  promotion_ends_ms: string | null;
  empties_ms: string | null;
  now_ms: string;
}

interface BeatRow {
  alive: boolean;
  now_ms: string;
  changed_kinds: ScopeKind[] | null;
  changed_owners: string[] | null;
}

interface UnreadRow {
  node: string;
  journal: string;
  heard_at: Date;
  kinds: ScopeKind[];
  owners: string[];
  amounts: string[];
}

const IDS_PER_RESERVATION = 1_000;

/**
 * A rolling window has a start and no end: if nothing could be granted, its latest spending is looked up. What is drawn
 * from a wallet is valid until the next of its promotions ends.
 */
const drawSql = `
  SELECT drawn.*, CASE WHEN coalesce(granted, 0) = 0 AND starts_ms IS NOT NULL AND ends_ms IS NULL THEN
    (SELECT floor(extract(epoch FROM max(hour) + interval '720 hours') * 1000)::bigint FROM spending_bucket
      WHERE spending_bucket.window_id = drawn.window_id AND spent > 0) END AS empties_ms,
    (SELECT floor(extract(epoch FROM min(g.expires_at)) * 1000)::bigint
       FROM spending_window w JOIN promotion_credit c ON c.remaining > 0
        AND ((c.wallet_id = w.owner_id AND c.holder_wallet_id IS NULL) OR c.holder_wallet_id = w.owner_id)
       JOIN promotion_grant g ON g.id = c.grant_id
      WHERE w.id = drawn.window_id AND w.kind = 'wallet' AND g.expires_at > now()) AS promotion_ends_ms
    FROM escrow_draw($1, $2, $3, $4, $5, $6) AS drawn`;

/** Implements the store in PostgreSQL: every method is one statement, a settlement one transaction. */
export class PostgresMoneyStore implements MoneyStore {
  /** Ids of ledger transactions reserved from the sequence in advance, so that records can carry theirs. */
  private reservedIds: bigint[] = [];

  /** `isTapped` tells whether settled records are delivered to taps. */
  constructor(
    private readonly database: Database,
    private readonly isTapped = false,
  ) {}

  async beat(lease: string, node: string, begin: boolean, journal: string | null = null): Promise<Beat> {
    const [row] = await this.query<BeatRow>('SELECT * FROM escrow_beat($1, $2, $3, $4)', [
      lease,
      node,
      begin,
      journal,
    ]);
    if (row === undefined) throw new Error('a beat answers one row always');
    const owners = row.changed_owners ?? [];
    const changed = (row.changed_kinds ?? []).map((kind, index): LimitRef => ({
      kind,
      id: Number(owners[index]),
    }));
    return { alive: row.alive, now: Number(row.now_ms), changed };
  }

  async draw(lease: string, operation: number, requests: readonly DrawRequest[]): Promise<DrawResult[]> {
    const rows = await this.query<DrawRow>(drawSql, [
      lease,
      operation,
      requests.map((request) => request.ref.kind),
      requests.map((request) => request.ref.id),
      requests.map((request) => request.need.toString()),
      requests.map((request) => request.want.toString()),
    ]);
    return rows.map(toDrawResult);
  }

  async giveBack(lease: string, operation: number, portions: readonly SlicePortion[]): Promise<void> {
    await this.query('SELECT escrow_return($1, $2, $3, $4)', [
      lease,
      operation,
      portions.map((portion) => portion.windowId),
      portions.map((portion) => portion.amount.toString()),
    ]);
  }

  async audit(lease: string, operation: number): Promise<SlicePortion[]> {
    const rows = await this.query<{ window_id: string; amount: string }>(
      'SELECT * FROM escrow_audit($1, $2)',
      [lease, operation],
    );
    return rows.map((row) => ({ windowId: row.window_id, amount: BigInt(row.amount) }));
  }

  async sweep(node?: string): Promise<number> {
    const [row] = await this.query<{ swept: number }>('SELECT escrow_sweep($1) AS swept', [node ?? null]);
    return row?.swept ?? 0;
  }

  async unreadJournals(): Promise<UnreadJournal[]> {
    const rows = await this.query<UnreadRow>(
      `SELECT l.node, max(l.journal) AS journal, max(l.expires_at) - interval '30 s' AS heard_at,
              array_agg(w.kind ORDER BY w.id) AS kinds, array_agg(w.owner_id ORDER BY w.id) AS owners,
              array_agg(s.amount ORDER BY w.id) AS amounts
         FROM escrow_lease l JOIN escrow_slice s ON s.lease_id = l.id AND s.amount > 0
         JOIN spending_window w ON w.id = s.window_id
        WHERE l.expires_at < clock_timestamp() AND l.journal IS NOT NULL GROUP BY l.node ORDER BY 3`,
      [],
    );
    return rows.map(({ node, journal, heard_at: heardAt, kinds, owners, amounts }) => ({
      node,
      journal,
      heardAt,
      held: kinds.map((kind, index) => ({
        ref: { kind, id: Number(owners[index]) },
        amount: BigInt(amounts[index] ?? 0),
      })),
    }));
  }

  async forgottenNodes(nodes: readonly string[]): Promise<string[]> {
    const rows = await this.query<TableRow<'escrow_forgotten', 'node'>>(
      'SELECT node FROM escrow_forgotten WHERE node = ANY ($1)',
      [nodes],
    );
    return rows.map(({ node }) => node);
  }

  /** Gives up what a dead node might have journalled. Returns false if the node is not dead or holds nothing. */
  async forget(node: string, record: (tx: Tx) => Promise<void>): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const [row] = await tx.query<{ done: boolean }[]>('SELECT escrow_forget($1) AS done', [node]);
      if (row?.done === true) await record(tx);
      return row?.done ?? false;
    });
  }

  async liveNodes(): Promise<string[]> {
    const rows = await this.query<TableRow<'escrow_lease', 'node'>>(
      'SELECT DISTINCT node FROM escrow_lease WHERE expires_at > clock_timestamp()',
      [],
    );
    return rows.map((row) => row.node);
  }

  async settle(batch: SettlementRequest): Promise<SettlementResult> {
    const settlementOf = await this.settlementsFor(batch.records);
    try {
      return await this.database.transaction(
        (tx) => settleIn(tx, batch, { settlementOf, isTapped: this.isTapped }),
        {
          attempts: 5,
        },
      );
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /** Reserves an id for each wallet that the records charge. An id left unused by a failed attempt is no loss. */
  private async settlementsFor(records: readonly WrittenRecord[]): Promise<Map<number, bigint>> {
    const settlementOf = new Map<number, bigint>();
    for (const { walletId, costNano } of records) {
      if (costNano === 0n || walletId === null || settlementOf.has(walletId)) continue;
      settlementOf.set(walletId, this.reservedIds.pop() ?? (await this.reserveIds()));
    }
    return settlementOf;
  }

  private async reserveIds(): Promise<bigint> {
    const rows = await this.query<{ id: string }>(
      "SELECT nextval('ledger_transaction_id_seq') AS id FROM generate_series(1, $1::integer)",
      [IDS_PER_RESERVATION],
    );
    this.reservedIds = rows.map((row) => BigInt(row.id)).reverse();
    const first = this.reservedIds.pop();
    if (first === undefined) throw new Error('the sequence gave no ids');
    return first;
  }

  private async query<ResultRow>(sql: string, parameters: unknown[]): Promise<ResultRow[]> {
    try {
      return await this.database.query<ResultRow>(sql, parameters);
    } catch (error) {
      throw toStoreError(error);
    }
  }
}

async function settleIn(
  tx: Tx,
  batch: SettlementRequest,
  options: { readonly settlementOf: ReadonlyMap<number, bigint>; readonly isTapped: boolean },
): Promise<SettlementResult> {
  const { records } = batch;
  const { settlementOf } = options;
  const existing =
    records.length === 0 ? new Set<number>() : await insertRequestRecords(tx, records, options);
  const totals = new ChargeTotals(
    records.filter((_, index) => !existing.has(index)),
    settlementOf,
  );
  const rows = await tx.query<{ window_id: string; limit_left: string }[]>(
    'SELECT * FROM money_settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    [
      batch.lease,
      batch.number,
      ...[totals.kinds, totals.owners, totals.hours, totals.amounts],
      ...[totals.wallets, totals.settlements, totals.sums],
      batch.releases.map((portion) => portion.windowId),
      batch.releases.map((portion) => portion.amount.toString()),
    ],
  );
  const windows = rows.map((row) => ({ windowId: row.window_id, limitLeft: BigInt(row.limit_left) }));
  // If all records exist, an earlier attempt was committed but its response was lost.
  if (existing.size < records.length && batch.isCalledOff?.() === true) throw new CalledOff();
  return { known: [...existing], windows };
}

function toDrawResult(row: DrawRow): DrawResult {
  const now = Number(row.now_ms);
  if (row.window_id === null) {
    return {
      window: null,
      granted: null,
      limitLeft: 0n,
      poolLeft: 0n,
      elsewhere: 0n,
      resetsAt: Infinity,
      now,
    };
  }
  return {
    window: {
      id: row.window_id,
      startsAt: row.starts_ms === null ? -Infinity : Number(row.starts_ms),
      endsAt: Math.min(Number(row.ends_ms ?? Infinity), Number(row.promotion_ends_ms ?? Infinity)),
    },
    granted: row.granted === null ? null : BigInt(row.granted),
    limitLeft: BigInt(row.limit_left),
    poolLeft: BigInt(row.pool_left),
    elsewhere: BigInt(row.elsewhere),
    resetsAt: resetOf(row, now),
    now,
  };
}

/** Spending leaves a rolling window with its hour, 720 hours later. */
function resetOf({ starts_ms: starts, ends_ms: ends, empties_ms: empties }: DrawRow, now: number): number {
  if (ends !== null) return Number(ends);
  if (starts === null) return Infinity;
  return empties === null ? (Math.floor(now / HOUR_MS) + 720) * HOUR_MS : Number(empties);
}

/** Maps database errors. Classes 22 and 23 mean invalid values, so sending them again does not help. */
function toStoreError(error: unknown): unknown {
  const { code = '' } = (error ?? {}) as { code?: string };
  if (code === 'SB001') return new LeaseGone();
  if (/^2[23]/.test(code)) return new RefusedByStore(String(error), { cause: error });
  return error;
}
