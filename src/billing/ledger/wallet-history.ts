import { Injectable } from '@nestjs/common';
import { invoiceAccountOf, type Nano } from '../../kernel';
import { Database, everyRow, Keyset, type Page, type PageRequest, type Tx } from '../../platform';

/** A change of a wallet: a posting of the ledger, or the cost of a day's requests. */
export interface HistoryLine {
  readonly at: Date;
  /** It is `usage`, or the kind of the posting. */
  readonly kind: string;
  readonly ref: string;
  readonly amount: Nano;
  /** The balance after it. */
  readonly balance: Nano;
  /** Only a day of usage has a number of requests. */
  readonly requests: number | null;
}

/** A statement does not list these postings of one kind one by one. */
interface FurtherPostings {
  readonly kind: string;
  readonly count: number;
  readonly amount: Nano;
}

/** The usage of one member of an organisation, or of one project. */
export interface UsageShare {
  /** Null stands for all others together, beyond those that are listed. */
  readonly name: string | null;
  readonly requests: number;
  readonly cost: Nano;
}

/** A mark-up or discount, in millionths of the price. */
export interface FactorInForce {
  readonly organisation: string;
  readonly factor: number;
  readonly from: Date;
  /** Null means until further notice. */
  readonly to: Date | null;
}

export interface Statement {
  readonly from: Date;
  readonly to: Date;
  readonly opening: Nano;
  readonly closing: Nano;
  readonly postings: readonly HistoryLine[];
  /** The later ones of a span with very many, so that the statement still adds up. */
  readonly furtherPostings: readonly FurtherPostings[];
  readonly usage: Nano;
  readonly requests: number;
  readonly byMember: readonly UsageShare[];
  readonly byProject: readonly UsageShare[];
  /** Top-ups with test cards are among the postings. */
  readonly hasTestMoney: boolean;
  /** These mark-ups and discounts of organisations were in force in the span. */
  readonly factors: readonly FactorInForce[];
}

interface LineRow {
  at: Date;
  kind: string;
  ref: string;
  amount: string;
  balance: string;
  requests: string | null;
}

/** The wallet paid for these days of UTC: sums of days where there are some, else of their hours. */
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
 * Postings as they are, and settlements as one line a day, at its end in UTC. Requests count on the day on which they
 * were made. Lines of usage have negative ids, so that ids stay unique.
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
const ROWS_AT_ONCE = 1_000;
const MOST_POSTINGS = 1_000;
const MOST_SHARES = 200;

/** The statement of a wallet, line by line. */
@Injectable()
export class WalletHistory {
  constructor(private readonly database: Database) {}

  /** The newest first, each with the balance after it. */
  async page(walletId: number, request: PageRequest): Promise<Page<HistoryLine>> {
    const keyset = newestFirst.clause(request, 2);
    const rows = await this.database.query<LineRow>(
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
    return everyRow(limit, ROWS_AT_ONCE, (page) => this.page(walletId, page));
  }

  /** The statement of the wallet's payer by invoice is null where nothing was owed or paid in the span. */
  async invoices(walletId: number, from: Date, to: Date): Promise<Statement | null> {
    const statement = await this.statement(invoiceAccountOf(walletId), from, to);
    return isEmpty(statement) ? null : statement;
  }

  /** It goes from the beginning of one day of UTC to the beginning of another; all its parts are of one moment. */
  async statement(walletId: number, from: Date, to: Date): Promise<Statement> {
    const span = [walletId, from, to];
    return this.database.transaction(
      async (tx) => {
        const [totals] = await tx.query<Record<'opening' | 'closing' | 'usage' | 'requests', string>[]>(
          totalsOfSpan,
          span,
        );
        return {
          from,
          to,
          opening: BigInt(totals?.opening ?? 0),
          closing: BigInt(totals?.closing ?? 0),
          usage: BigInt(totals?.usage ?? 0),
          requests: Number(totals?.requests ?? 0),
          ...(await postingsOf(tx, span)),
          byMember: await shares(tx, 'user', span),
          byProject: await shares(tx, 'project', span),
          hasTestMoney: await hasTestMoney(tx, span),
          factors: await tx.query<FactorInForce[]>(FACTORS, span),
        };
      },
      { isolation: 'REPEATABLE READ', withoutActivity: 'reads alone' },
    );
  }
}

const isEmpty = ({ opening, closing, usage, postings }: Statement): boolean =>
  opening === 0n && closing === 0n && usage === 0n && postings.length === 0;

const postingsInSpan = `
  SELECT *, row_number() OVER (ORDER BY at, id) AS place FROM (${lines}) AS line
   WHERE kind <> 'usage' AND at >= $2 AND at < $3`;

async function postingsOf(tx: Tx, span: unknown[]): Promise<Pick<Statement, 'postings' | 'furtherPostings'>> {
  const first = await tx.query<LineRow[]>(
    `SELECT at, kind, ref, amount::text, '0' AS balance, requests::text FROM (${postingsInSpan}) AS posted
      WHERE place <= ${MOST_POSTINGS} ORDER BY place`,
    span,
  );
  const further = await tx.query<Record<'kind' | 'count' | 'amount', string>[]>(
    `SELECT kind, count(*)::text AS count, sum(amount)::text AS amount FROM (${postingsInSpan}) AS posted
      WHERE place > ${MOST_POSTINGS} GROUP BY kind ORDER BY kind`,
    span,
  );
  return {
    postings: first.map(lineOf),
    furtherPostings: further.map(({ kind, count, amount }) => ({
      kind,
      count: Number(count),
      amount: BigInt(amount),
    })),
  };
}

const sharers = {
  user: { table: 'user_account', name: `coalesce(nullif(max(a.display_name), ''), max(a.email), '–')` },
  project: { table: 'project', name: `coalesce(max(a.name), '–')` },
} as const;

/** The largest, and the others together: their sum is the usage of the span. */
async function shares(tx: Tx, scope: keyof typeof sharers, span: unknown[]): Promise<UsageShare[]> {
  const { table, name } = sharers[scope];
  const rows = await tx.query<{ name: string | null; requests: string; cost: string }[]>(
    `SELECT max(name) FILTER (WHERE place <= ${MOST_SHARES}) AS name, sum(requests)::text AS requests,
            sum(cost)::text AS cost
       FROM (SELECT ${name} AS name, sum(u.requests) AS requests, sum(u.cost_nano) AS cost,
                    row_number() OVER (ORDER BY sum(u.cost_nano) DESC, u.${scope}_id) AS place
               FROM usage_hour u LEFT JOIN ${table} a ON a.id = u.${scope}_id
              WHERE u.wallet_id = $1 AND u.hour >= $2 AND u.hour < $3
              GROUP BY u.${scope}_id HAVING sum(u.cost_nano) > 0) AS share
      GROUP BY least(place, ${MOST_SHARES + 1}) ORDER BY least(place, ${MOST_SHARES + 1})`,
    span,
  );
  return rows.map((row) => ({ name: row.name, requests: Number(row.requests), cost: BigInt(row.cost) }));
}

async function hasTestMoney(tx: Tx, span: unknown[]): Promise<boolean> {
  const paid = await tx.query<object[]>(
    `SELECT 1 FROM payment WHERE wallet_id = $1 AND NOT live_mode AND paid_at >= $2 AND paid_at < $3 LIMIT 1`,
    span,
  );
  return paid.length > 0;
}

/** They are of organisations whose requests the wallet paid in the span; one that held the whole price is not told. */
const FACTORS = `
  SELECT o.name AS organisation, m.factor, m.valid_from AS "from", m.ends AS "to"
    FROM (SELECT *, lead(valid_from) OVER (PARTITION BY organisation_id ORDER BY valid_from) AS ends
            FROM organisation_markup) m
    JOIN organisation o ON o.id = m.organisation_id
   WHERE m.factor <> 1000000 AND m.valid_from < $3 AND coalesce(m.ends > $2, true)
     AND EXISTS (SELECT FROM usage_hour u WHERE u.wallet_id = $1 AND u.organisation_id = m.organisation_id
                   AND u.hour >= $2 AND u.hour < $3)
   ORDER BY o.name, m.valid_from LIMIT ${MOST_SHARES}`;

const totalsOfSpan = `
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

const lineOf = (row: LineRow): HistoryLine => ({
  at: row.at,
  kind: row.kind,
  ref: row.ref,
  amount: BigInt(row.amount),
  balance: BigInt(row.balance),
  requests: row.requests === null ? null : Number(row.requests),
});
