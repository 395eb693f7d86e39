import { CREDITED_PER_CENT } from '../../../kernel';
import { differingGroups, maxTransactionDuration, type MoneyCheckQuery } from './money-check';

/** Rows of different tables that state the same fact. */
interface Agreement {
  readonly name: string;
  /** SQL from the FROM clause on, joining the rows. */
  readonly rows: string;
  /** SQL expression that names the row in a report. */
  readonly what: string;
  readonly comparisons: Readonly<Record<string, readonly [expected: string, found: string]>>;
}

/** Compares two times of one transaction: returns the expected time if both are near, otherwise the actual one. */
const withinTransaction = (expected: string, actual: string): readonly [string, string] => [
  expected,
  `CASE WHEN ${actual} BETWEEN ${expected} - ${maxTransactionDuration} AND ${expected} + ${maxTransactionDuration}
        THEN ${expected} ELSE ${actual} END`,
];

/** The audit log is kept for some months, so older postings have no entry. Both are written in one transaction. */
const loggedSince = `(SELECT min(occurred_at) - interval '10 s' FROM activity)`;

const usd = (value: string): string => `(${value})::numeric * 1000000000`;

/** Stored facts of the processor; facts without a payment wait for it. */
const storedFacts = (kind: string): string => `
  SELECT e.fact, e.event_id FROM processor_event e
   WHERE e.fact ->> 'kind' = '${kind}' AND (e.outcome = 'applied' OR (e.outcome = 'ignored' AND e.problem = 'payment'))`;

const paymentName = `format('payment %s of wallet %s', p.public_id, p.wallet_id)`;

/** The account on the other side of each kind of posting; only wallets if money moves between them. */
const counterpartAccounts: Readonly<Record<string, string>> = {
  settlement: 'usage',
  'top-up': 'processor',
  refund: 'processor',
  'refund-failed': 'processor',
  dispute: 'processor',
  'dispute-won': 'processor',
  adjustment: 'adjustment',
  rerate: 'adjustment',
  promotion: 'promotion',
  'promotion-expired': 'promotion',
  'invoice-payment': 'receipt',
  'invoice-payment-undone': 'receipt',
  merge: 'wallets alone',
  'invoice-left': 'wallets alone',
};

const paymentActions: Readonly<Record<string, string>> = {
  'top-up': 'billing.topped-up',
  refund: 'billing.refunded',
  'refund-failed': 'billing.refund-failed',
  dispute: 'billing.dispute-opened',
  'dispute-won': 'billing.dispute-closed',
};

const valuesList = (table: Readonly<Record<string, string>>): string =>
  `(VALUES ${Object.entries(table)
    .map((pair) => `(${pair.map((text) => `'${text}'`).join(', ')})`)
    .join(', ')})`;

const walletEntries = `
  ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
    JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'`;

const agreements: readonly Agreement[] = [
  {
    name: 'a payment charges its credit and the fee',
    rows: 'payment p',
    what: paymentName,
    comparisons: {
      gross: [`div(p.net_cents * 100 + ${CREDITED_PER_CENT - 1n}, ${CREDITED_PER_CENT})`, 'p.gross_cents'],
      fee: [
        `div(p.net_cents * 100 + ${CREDITED_PER_CENT - 1n}, ${CREDITED_PER_CENT}) - p.net_cents`,
        'p.fee_cents',
      ],
    },
  },
  {
    name: 'a payment is as its events say',
    rows: `processor_event e JOIN payment p ON p.id = e.payment_id
            WHERE e.outcome = 'applied' AND e.fact ->> 'kind' IN ('session', 'intent')`,
    what: paymentName,
    comparisons: {
      gross: [`(e.fact ->> 'amountCents')::bigint`, 'p.gross_cents'],
      currency: [`e.fact ->> 'currency'`, 'p.currency'],
      wallet: [`e.fact ->> 'wallet'`, 'p.wallet_id::text'],
      charge: [
        `CASE WHEN e.fact ->> 'state' = 'paid' THEN coalesce(e.fact ->> 'intentId', p.payment_intent_id)
              ELSE p.payment_intent_id END`,
        'p.payment_intent_id',
      ],
      session: [`coalesce(e.fact ->> 'sessionId', p.session_id)`, 'p.session_id'],
      state: [`CASE WHEN e.fact ->> 'state' = 'paid' THEN 'paid' ELSE p.state END`, 'p.state'],
      live: [`coalesce((e.fact ->> 'live')::boolean, p.live_mode)`, 'p.live_mode'],
    },
  },
  {
    name: 'a payment is live as its checkout is',
    rows: `payment p WHERE p.session_id ~ '^cs_(live|test)_'`,
    what: paymentName,
    comparisons: { live: [`p.session_id LIKE 'cs\\_live\\_%'`, 'p.live_mode'] },
  },
  {
    name: 'a payment was paid when it was credited first',
    // The credit comes later if a refund was reported before its payment, and failed.
    rows: `payment p LEFT JOIN ledger_transaction t
             ON t.kind = 'top-up' AND t.ref = 'payment:' || p.public_id || ':1'
             AND (p.failed_refund_cents = 0 OR p.paid_at > t.created_at)
             AND NOT EXISTS (SELECT FROM processor_dispute d
                              WHERE d.payment_intent_id = p.payment_intent_id AND d.state = 'won')`,
    what: paymentName,
    comparisons: {
      paid: [`p.state = 'paid'`, 'p.paid_at IS NOT NULL'],
      at: withinTransaction('coalesce(t.created_at, p.paid_at)', 'p.paid_at'),
    },
  },
  {
    name: 'a dispute is as its newest event says',
    rows: `(SELECT DISTINCT ON (fact ->> 'disputeId') fact, coalesce((fact ->> 'observedAt')::bigint, 0) AS observed_at,
                   coalesce((fact ->> 'movements')::integer, 0) AS movements
              FROM (${storedFacts('dispute')}) AS kept
             ORDER BY fact ->> 'disputeId', 2 DESC, 3 DESC,
                   array_position(ARRAY['open', 'lost', 'won'], fact ->> 'state') DESC,
                   (fact ->> 'amountCents')::bigint DESC) AS e
           LEFT JOIN processor_dispute d ON d.dispute_id = e.fact ->> 'disputeId'
           LEFT JOIN payment p ON p.payment_intent_id = e.fact ->> 'intentId'
          WHERE d.dispute_id IS NULL OR (d.observed_at, d.movements) <= (e.observed_at, e.movements)`,
    what: `format('dispute %s, payment %s', e.fact ->> 'disputeId', p.public_id)`,
    comparisons: {
      cents: [`(e.fact ->> 'amountCents')::bigint`, 'd.amount_cents'],
      state: [`e.fact ->> 'state'`, 'd.state'],
      charge: [`e.fact ->> 'intentId'`, 'd.payment_intent_id'],
      second: ['e.observed_at', 'd.observed_at'],
    },
  },
  {
    name: 'a refund is as its events say',
    rows: `(SELECT fact ->> 'refundId' AS refund_id, max((fact ->> 'amountCents')::bigint) AS cents,
                   max(fact ->> 'intentId') AS intent_id, bool_or(fact ->> 'state' = 'failed') AS has_failed
              FROM (${storedFacts('refund')}) AS kept GROUP BY 1) AS e
           LEFT JOIN processor_refund r ON r.refund_id = e.refund_id
           LEFT JOIN payment p ON p.payment_intent_id = e.intent_id`,
    what: `format('refund %s, payment %s', e.refund_id, p.public_id)`,
    comparisons: {
      cents: ['e.cents', 'r.amount_cents'],
      charge: ['e.intent_id', 'r.payment_intent_id'],
      state: [`CASE WHEN e.has_failed THEN 'failed' ELSE coalesce(r.state, 'made') END`, 'r.state'],
    },
  },
  {
    name: 'a charge was refunded as its events say',
    rows: `(SELECT fact ->> 'intentId' AS intent_id, max((fact ->> 'refundedCents')::bigint) AS cents
              FROM (${storedFacts('charge')}) AS kept JOIN payment p ON p.payment_intent_id = fact ->> 'intentId'
             GROUP BY 1) AS e
           JOIN payment p ON p.payment_intent_id = e.intent_id
           LEFT JOIN processor_charge c ON c.payment_intent_id = e.intent_id`,
    what: paymentName,
    comparisons: { cents: ['greatest(e.cents, c.refunded_cents)', 'c.refunded_cents'] },
  },
  {
    name: 'a refund that was ordered and made was taken back',
    rows: `refund_order o LEFT JOIN payment p ON p.id = o.payment_id WHERE o.state = 'made'`,
    what: `coalesce(${paymentName}, 'refund order ' || o.id)`,
    comparisons: {
      cents: [
        'greatest(o.total_after_cents, p.refunded_cents + p.failed_refund_cents)',
        'p.refunded_cents + p.failed_refund_cents',
      ],
    },
  },
  {
    name: 'a posting is against the account of its kind',
    rows: `(SELECT t.kind, t.ref, string_agg(a.kind, ', ' ORDER BY a.kind) FILTER (WHERE a.kind <> 'wallet') AS found
              FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
              JOIN ledger_account a ON a.id = e.account_id GROUP BY t.id, t.kind, t.ref) AS t
           JOIN ${valuesList(counterpartAccounts)} AS k (kind, against) ON k.kind = t.kind`,
    what: `format('%s %s', t.kind, t.ref)`,
    comparisons: { against: ['k.against', `coalesce(t.found, 'wallets alone')`] },
  },
  {
    name: 'a merge takes money from the former payer',
    rows: `(SELECT t.ref, count(*) AS entries, count(*) FILTER (WHERE a.owner_id::text = substring(t.ref FROM ': ([0-9]+) to [0-9]+')) AS former
              FROM ${walletEntries} WHERE t.kind = 'merge' GROUP BY t.id, t.ref) AS t
           WHERE t.ref ~ ': [0-9]+ to [0-9]+'`,
    what: `format('merge %s', t.ref)`,
    comparisons: { wallets: ['2', 't.entries'], 'former payer': ['1', 't.former'] },
  },
  {
    name: 'a window spans its period',
    rows: `spending_window w CROSS JOIN LATERAL (SELECT
             CASE w.period WHEN 'daily' THEN 'day' WHEN 'weekly' THEN 'week' WHEN 'monthly' THEN 'month' END AS unit) AS u
           CROSS JOIN LATERAL (SELECT date_trunc(u.unit, w.starts_at, 'UTC') AS first) AS f`,
    what: `format('%s %s, %s from %s', w.kind, w.owner_id, w.period, w.starts_at)`,
    comparisons: {
      start: [
        `CASE WHEN u.unit IS NOT NULL THEN f.first WHEN w.period = 'rolling' THEN date_trunc('hour', w.starts_at, 'UTC') ELSE '-infinity' END`,
        'w.starts_at',
      ],
      end: [
        `CASE WHEN u.unit IS NULL THEN 'infinity'
              ELSE (f.first AT TIME ZONE 'UTC' + ('1 ' || u.unit)::interval) AT TIME ZONE 'UTC' END`,
        'w.ends_at',
      ],
    },
  },
  {
    name: 'promotions count the spending of their wallet',
    // A posting of a promotion counts all earlier spending.
    rows: `promotion_wallet m
           LEFT JOIN spending_window w ON w.kind = 'wallet' AND w.owner_id = m.wallet_id
           CROSS JOIN LATERAL (
             SELECT coalesce(-sum(e.amount), 0) AS counted FROM ledger_account a
               JOIN ledger_entry e ON e.account_id = a.id
               JOIN ledger_transaction t ON t.id = e.transaction_id AND t.kind = 'settlement'
              WHERE a.kind = 'wallet' AND a.owner_id = m.wallet_id
                AND t.created_at < (SELECT max(p.created_at) FROM ledger_entry x JOIN ledger_transaction p
                       ON p.id = x.transaction_id AND p.kind IN ('promotion', 'promotion-expired')
                     WHERE x.account_id = a.id AND x.is_posting) - ${maxTransactionDuration}) AS s`,
    what: `format('wallet %s', m.wallet_id)`,
    comparisons: { counted: ['greatest(least(m.spent, coalesce(w.spent, 0)), s.counted)', 'm.spent'] },
  },
  {
    name: 'a promotion was credited when it was posted',
    rows: `promotion_credit c JOIN ledger_transaction t
             ON t.kind = 'promotion' AND t.ref = format('%s to %s', c.grant_id, c.wallet_id)`,
    what: `format('grant %s to wallet %s', c.grant_id, c.wallet_id)`,
    comparisons: {
      at: withinTransaction('t.created_at', 'c.credited_at'),
      ended: ['CASE WHEN c.ended_at > now() THEN now() ELSE c.ended_at END', 'c.ended_at'],
    },
  },
  {
    name: 'a promotion is granted as the activity log says',
    rows: `activity l LEFT JOIN promotion_grant g ON g.id::text = l.object_id
            WHERE l.action = 'promotion.granted' AND l.object_type = 'promotion'`,
    what: `format('grant %s', l.object_id)`,
    comparisons: {
      amount: [`trunc(${usd(`l.changes -> 'amount' ->> 1`)})::bigint`, 'g.amount'],
      scope: [`l.changes -> 'scope' ->> 1`, 'g.scope'],
      user: [`l.user_id`, 'g.user_id'],
    },
  },
  {
    name: 'a payment of an invoice was posted when it was recorded',
    rows: `invoice_payment i
           JOIN ledger_transaction t ON t.kind = 'invoice-payment' AND t.ref = i.id::text
           LEFT JOIN ledger_transaction u ON u.kind = 'invoice-payment-undone' AND u.ref = i.id::text`,
    what: `format('payment %s', i.id)`,
    comparisons: {
      recorded: withinTransaction('t.created_at', 'i.recorded_at'),
      undone: withinTransaction('coalesce(u.created_at, i.undone_at)', 'i.undone_at'),
    },
  },
];

/** Postings made by users are also in the audit log. */
const auditLogChecks: readonly MoneyCheckQuery[] = [
  {
    name: 'an adjustment is in the activity log',
    reads: 'full',
    sql: differingGroups(
      {
        expected: `
          SELECT object_id, trunc(${usd(`changes -> 'amount_usd' ->> 1`)}), 1 FROM activity
           WHERE action = 'billing.adjusted' AND object_type = 'account'`,
        found: `
          SELECT a.owner_id::text, e.amount, 1 FROM ${walletEntries}
           WHERE t.kind = 'adjustment' AND t.created_at >= ${loggedSince}`,
      },
      ['wallet', 'nano_usd'],
      ['adjustments'],
    ),
  },
  {
    name: 'a correction of prices is in the activity log',
    reads: 'full',
    sql: differingGroups(
      {
        expected: `
          SELECT object_id, ${usd(`changes -> 'amount_usd' ->> 1`)} FROM activity
           WHERE action = 'billing.rerated' AND object_type = 'account'`,
        found: `
          SELECT a.owner_id::text, e.amount FROM ${walletEntries}
           WHERE t.kind = 'rerate' AND t.created_at >= ${loggedSince}`,
      },
      ['wallet'],
      ['amount_nano'],
    ),
  },
  {
    name: 'each credit of a payment is in the activity log',
    reads: 'full',
    sql: differingGroups(
      {
        expected: `
          SELECT coalesce(p.public_id::text, l.object_id), l.action, 1,
                 ${usd(`l.changes -> 'credit_usd' ->> 1`)} - ${usd(`l.changes -> 'credit_usd' ->> 0`)}
            FROM activity l LEFT JOIN payment p ON p.id::text = l.object_id
           WHERE l.action IN (${Object.values(paymentActions)
             .map((action) => `'${action}'`)
             .join(', ')}) AND l.object_type = 'payment' AND l.changes -> 'credit_usd' IS NOT NULL`,
        found: `
          SELECT split_part(t.ref, ':', 2), k.action, 1, e.amount FROM ${walletEntries}
            JOIN ${valuesList(paymentActions)} AS k (kind, action) ON k.kind = t.kind
           WHERE t.ref LIKE 'payment:%' AND t.created_at >= ${loggedSince}`,
      },
      ['payment', 'action'],
      ['postings', 'credited_nano'],
    ),
  },
];

function toCheckQuery({ name, rows, what, comparisons }: Agreement): MoneyCheckQuery {
  const describeSide = (index: 0 | 1): string =>
    `concat_ws(', ', ${Object.entries(comparisons)
      .map(([label, [expected, found]]) => {
        const value = index === 0 ? expected : found;
        return `CASE WHEN (${expected}) IS DISTINCT FROM (${found}) THEN '${label} ' || coalesce((${value})::text, 'none') END`;
      })
      .join(', ')})`;
  const sql = `SELECT ${what} AS what, ${describeSide(0)} AS expected, ${describeSide(1)} AS found FROM ${rows}`;
  return { name, reads: 'full', sql };
}

export const agreementChecks: readonly MoneyCheckQuery[] = [
  ...agreements.map(toCheckQuery),
  ...auditLogChecks,
];
