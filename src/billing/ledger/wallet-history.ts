import { Injectable } from '@nestjs/common';
import { invoiceAccountOf, type Nano } from '../../kernel';
import { Database, everyRow, Keyset, type Page, type PageRequest, type Tx } from '../../platform';

/** Change of a wallet: a posting of the ledger, or the cost of one day's requests. */
export interface HistoryLine {
  readonly at: Date;
  readonly kind: string;
  readonly ref: string;
  readonly amount: Nano;
  readonly balance: Nano;
  /** Null except for a day of usage. */
  readonly requests: number | null;
}

interface FurtherPostings {
  readonly kind: string;
  readonly count: number;
  readonly amount: Nano;
}

export interface UsageShare {
  /** Null for the sum of all others that are not listed. */
  readonly name: string | null;
  readonly requests: number;
  readonly cost: Nano;
}

/** Mark-up or discount, in millionths of the price. */
export interface FactorInForce {
  readonly organisation: string;
  readonly factor: number;
  readonly from: Date;
  /** Null if it applies until further notice. */
  readonly to: Date | null;
}

export interface Statement {
  readonly from: Date;
  readonly to: Date;
  readonly opening: Nano;
  readonly closing: Nano;
  readonly postings: readonly HistoryLine[];
  /** Sums of postings beyond the maximum number listed, so that the statement still adds up. */
  readonly furtherPostings: readonly FurtherPostings[];
  readonly usage: Nano;
  readonly requests: number;
  readonly byMember: readonly UsageShare[];
  readonly byProject: readonly UsageShare[];
  readonly hasTestMoney: boolean;
  readonly factors: readonly FactorInForce[];
}

interface HistoryLineRow {
  at: Date;
  kind: string;
  ref: string;
  amount: string;
  balance: string;
  requests: string | null;
}

/** Usage that the wallet paid for per UTC day: sums of days if they exist, otherwise of their hours. */
const usageDays = `
  SELECT d.day, d.cost_nano::numeric AS cost, d.requests::bigint AS requests
    FROM usage_day_merged m JOIN usage_day d ON d.day = m.day AND d.dimension = 'wallet' AND d.number = $1
  UNION ALL
  SELECT o.day, sum(u.cost_nano), sum(u.requests)::bigint
    FROM generate_series(
           date_trunc('day', (SELECT min(hour) FROM usage_hour WHERE wallet_id = $1), 'UTC'),
           now() + interval '24 hours', interval '24 hours') AS o (day)
    JOIN usage_hour u ON u.wallet_id = $1 AND u.hour >= o.day AND u.hour < o.day + interval '24 hours'
   WHERE NOT EXISTS (SELECT FROM usage_day_merged m WHERE m.day = o.day) GROUP BY o.day`;

/**
 * Postings unchanged, and settlements as one line per day, at its end in UTC. Requests count on the day they were made;
 * lines of usage have negative ids, so that ids stay unique.
 */
const lines = `
  SELECT t.created_at AS at, t.id AS id, t.kind, t.ref, e.amount::numeric AS amount, NULL::bigint AS requests
    FROM ledger_account a JOIN ledger_entry e ON e.account_id = a.id AND e.is_posting
    JOIN ledger_transaction t ON t.id = e.transaction_id
   WHERE a.kind = 'wallet' AND a.owner_id = $1
  UNION ALL
  SELECT day + interval '24 hours' - interval '1 microsecond', -extract(epoch FROM day)::bigint, 'usage',
         to_char(day AT TIME ZONE 'UTC', 'YYYY-MM-DD'), -cost, requests
    FROM (${usageDays}) AS used WHERE cost > 0`;

const newestFirst = new Keyset(
  [
    { sql: 'at', kind: 'instant' },
    { sql: 'id', kind: 'integer' },
  ],
  'descending',
);
const PAGE_SIZE = 1_000;
const MAX_POSTINGS = 1_000;
const MAX_SHARES = 200;

@Injectable()
export class WalletHistory {
  constructor(private readonly database: Database) {}

  /** Returns the newest lines first, each with the balance after it. */
  async page(walletId: number, request: PageRequest): Promise<Page<HistoryLine>> {
    const keyset = newestFirst.clause(request, 2);
    const rows = await this.database.query<HistoryLineRow>(
      `WITH line AS (${lines}),
       told AS (SELECT *, sum(amount) OVER (ORDER BY at, id) AS balance FROM line)
       SELECT at, id, kind, ref, amount::text, balance::text, requests::text, ${newestFirst.positions} FROM told
        WHERE ${keyset.where} ORDER BY ${keyset.orderBy} LIMIT ${keyset.limit}`,
      [walletId, ...keyset.parameters],
    );
    const page = newestFirst.page(rows, request);
    return { ...page, rows: page.rows.map(lineOf) };
  }

  all(walletId: number, limit: number): AsyncGenerator<HistoryLine> {
    return everyRow(limit, PAGE_SIZE, (page) => this.page(walletId, page));
  }

  /** Returns the statement of the invoice account; null if nothing was owed or paid in the period. */
  async invoices(walletId: number, from: Date, to: Date): Promise<Statement | null> {
    const statement = await this.statement(invoiceAccountOf(walletId), from, to);
    return isEmpty(statement) ? null : statement;
  }

  /** Returns a consistent statement from the start of one UTC day to the start of another. */
  async statement(walletId: number, from: Date, to: Date): Promise<Statement> {
    const period = [walletId, from, to];
    return this.database.transaction(
      async (tx) => {
        const [totals] = await tx.query<Record<'opening' | 'closing' | 'usage' | 'requests', string>[]>(
          totalsOfPeriod,
          period,
        );
        return {
          from,
          to,
          opening: BigInt(totals?.opening ?? 0),
          closing: BigInt(totals?.closing ?? 0),
          usage: BigInt(totals?.usage ?? 0),
          requests: Number(totals?.requests ?? 0),
          ...(await postingsOf(tx, period)),
          byMember: await shares(tx, 'user', period),
          byProject: await shares(tx, 'project', period),
          hasTestMoney: await hasTestMoney(tx, period),
          factors: await tx.query<FactorInForce[]>(FACTORS, period),
        };
      },
      { isolation: 'REPEATABLE READ', withoutActivity: 'reads alone' },
    );
  }
}

const isEmpty = ({ opening, closing, usage, postings }: Statement): boolean =>
  opening === 0n && closing === 0n && usage === 0n && postings.length === 0;

const postingsInPeriod = `
  SELECT *, row_number() OVER (ORDER BY at, id) AS place FROM (${lines}) AS line
   WHERE kind <> 'usage' AND at >= $2 AND at < $3`;

async function postingsOf(
  tx: Tx,
  period: unknown[],
): Promise<Pick<Statement, 'postings' | 'furtherPostings'>> {
  const listed = await tx.query<HistoryLineRow[]>(
    `SELECT at, kind, ref, amount::text, '0' AS balance, requests::text FROM (${postingsInPeriod}) AS posted
      WHERE place <= ${MAX_POSTINGS} ORDER BY place`,
    period,
  );
  const further = await tx.query<Record<'kind' | 'count' | 'amount', string>[]>(
    `SELECT kind, count(*)::text AS count, sum(amount)::text AS amount FROM (${postingsInPeriod}) AS posted
      WHERE place > ${MAX_POSTINGS} GROUP BY kind ORDER BY kind`,
    period,
  );
  return {
    postings: listed.map(lineOf),
    furtherPostings: further.map(({ kind, count, amount }) => ({
      kind,
      count: Number(count),
      amount: BigInt(amount),
    })),
  };
}

const shareSources = {
  user: { table: 'user_account', name: `coalesce(nullif(max(a.display_name), ''), max(a.email), '–')` },
  project: { table: 'project', name: `coalesce(max(a.name), '–')` },
} as const;

/** Returns the largest shares and the sum of the others; together they are the usage of the period. */
async function shares(tx: Tx, scope: keyof typeof shareSources, period: unknown[]): Promise<UsageShare[]> {
  const { table, name } = shareSources[scope];
  const rows = await tx.query<{ name: string | null; requests: string; cost: string }[]>(
    `SELECT max(name) FILTER (WHERE place <= ${MAX_SHARES}) AS name, sum(requests)::text AS requests,
            sum(cost)::text AS cost
       FROM (SELECT ${name} AS name, sum(u.requests) AS requests, sum(u.cost_nano) AS cost,
                    row_number() OVER (ORDER BY sum(u.cost_nano) DESC, u.${scope}_id) AS place
               FROM usage_hour u LEFT JOIN ${table} a ON a.id = u.${scope}_id
              WHERE u.wallet_id = $1 AND u.hour >= $2 AND u.hour < $3
              GROUP BY u.${scope}_id HAVING sum(u.cost_nano) > 0) AS share
      GROUP BY least(place, ${MAX_SHARES + 1}) ORDER BY least(place, ${MAX_SHARES + 1})`,
    period,
  );
  return rows.map((row) => ({ name: row.name, requests: Number(row.requests), cost: BigInt(row.cost) }));
}

async function hasTestMoney(tx: Tx, period: unknown[]): Promise<boolean> {
  const testPayments = await tx.query<object[]>(
    `SELECT 1 FROM payment WHERE wallet_id = $1 AND NOT live_mode AND paid_at >= $2 AND paid_at < $3 LIMIT 1`,
    period,
  );
  return testPayments.length > 0;
}

/** Mark-ups of organisations whose requests the wallet paid for in the period; an unchanged price is left out. */
const FACTORS = `
  SELECT o.name AS organisation, m.factor, m.valid_from AS "from", m.ends AS "to"
    FROM (SELECT *, lead(valid_from) OVER (PARTITION BY organisation_id ORDER BY valid_from) AS ends
            FROM organisation_markup) m
    JOIN organisation o ON o.id = m.organisation_id
   WHERE m.factor <> 1000000 AND m.valid_from < $3 AND coalesce(m.ends > $2, true)
     AND EXISTS (SELECT FROM usage_hour u WHERE u.wallet_id = $1 AND u.organisation_id = m.organisation_id
                   AND u.hour >= $2 AND u.hour < $3)
   ORDER BY o.name, m.valid_from LIMIT ${MAX_SHARES}`;

const totalsOfPeriod = `
  WITH posted AS (SELECT t.created_at AS at, e.amount FROM ledger_account a
     JOIN ledger_entry e ON e.account_id = a.id JOIN ledger_transaction t ON t.id = e.transaction_id
    WHERE a.kind = 'wallet' AND a.owner_id = $1 AND e.is_posting AND t.created_at < $3),
  used AS (SELECT day, cost, requests FROM (${usageDays}) AS days WHERE day < $3)
  SELECT (coalesce((SELECT sum(amount) FROM posted WHERE at < $2), 0)
          - coalesce((SELECT sum(cost) FROM used WHERE day < $2), 0))::text AS opening,
         (coalesce((SELECT sum(amount) FROM posted), 0)
          - coalesce((SELECT sum(cost) FROM used), 0))::text AS closing,
         coalesce((SELECT sum(cost) FROM used WHERE day >= $2), 0)::text AS usage,
         coalesce((SELECT sum(requests) FROM used WHERE day >= $2), 0)::text AS requests`;

const lineOf = (row: HistoryLineRow): HistoryLine => ({
  at: row.at,
  kind: row.kind,
  ref: row.ref,
  amount: BigInt(row.amount),
  balance: BigInt(row.balance),
  requests: row.requests === null ? null : Number(row.requests),
});
