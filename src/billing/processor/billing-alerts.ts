import { Injectable } from '@nestjs/common';
import type { BudgetPeriod } from '../../kernel';
import { Database, Logger, readRows, RepeatingJob, type TableRow, type Tx } from '../../platform';
import { BillingMails, type BudgetNotice } from './billing-mails';

const BATCH_SIZE = 200;
const MAX_RECIPIENTS = 1_000;
const PERCENTS = [100, 80, 50];

type ReachedBudgetRow = TableRow<'budget_alert', 'window_id, percent'>;

type RecipientRow = TableRow<'spending_window', 'spent, limit_nano'> &
  TableRow<'user_account', 'email, display_name, preferred_language'> & {
    readonly kind: BudgetNotice['kind'];
    readonly what: string | null;
    readonly period: BudgetPeriod;
    readonly userId: number;
  };

const acceptsNotices = (userId: string, topic: 'budget' | 'balance'): string =>
  `NOT EXISTS (SELECT FROM user_setting s WHERE s.user_id = ${userId} AND '${topic}' = ANY (s.muted_notices))`;

/** Current windows with the highest threshold (50, 80, 100 %) that each has reached, unless it was notified. */
const reachedBudgets = `
  SELECT r.window_id, r.percent FROM (
    SELECT w.id AS window_id,
           (SELECT max(p) FROM unnest($1::int[]) AS p WHERE w.spent::numeric * 100 >= w.limit_nano::numeric * p) AS percent
      FROM spending_window w
     WHERE w.kind <> 'wallet' AND w.limit_nano > 0 AND w.ends_at > now() AND w.spent * 2 >= w.limit_nano
       AND EXISTS (SELECT FROM spending_rule r WHERE r.kind = w.kind AND r.owner_id = w.owner_id
             AND r.period = w.period AND r.limit_nano IS NOT NULL)) AS r
   WHERE NOT EXISTS (SELECT FROM budget_alert b WHERE b.window_id = r.window_id AND b.percent = r.percent)
   ORDER BY r.window_id LIMIT ${BATCH_SIZE}`;

/** The owner of a key, the payer of a project, the heads of a department, or the owners of an organisation. */
const recipientsOfBudget = `
  SELECT CASE r.kind WHEN 'key_model' THEN 'key' ELSE r.kind END AS kind, r.period, r.spent, r.limit_nano, o.what,
         u.email, u.display_name, u.preferred_language, u.id AS user_id
    FROM spending_window r
    CROSS JOIN LATERAL (
      SELECT k.name AS what, k.user_id FROM api_key k WHERE r.kind = 'key' AND k.id = r.owner_id
      UNION ALL SELECT k.name || ': ' || m.model, k.user_id FROM key_model m JOIN api_key k ON k.id = m.key_id
        WHERE r.kind = 'key_model' AND m.id = r.owner_id
      UNION ALL SELECT NULL, r.owner_id::integer WHERE r.kind IN ('user', 'user_budget')
      UNION ALL SELECT p.name, coalesce(p.billing_user_id, p.created_by) FROM project p
        WHERE r.kind = 'project' AND p.id = r.owner_id
      UNION ALL SELECT d.name, a.id FROM department d JOIN user_account a
           ON a.department_id = d.id AND a.role = 'department_admin' WHERE r.kind = 'department' AND d.id = r.owner_id
      UNION ALL SELECT g.name, a.id FROM organisation g JOIN user_account a
           ON a.organisation_id = g.id AND a.role = 'org_owner' WHERE r.kind = 'organisation' AND g.id = r.owner_id
    ) AS o
    JOIN user_account u ON u.id = o.user_id AND u.status = 'active' AND ${acceptsNotices('u.id', 'budget')}
   WHERE r.id = $1 ORDER BY u.id LIMIT ${MAX_RECIPIENTS}`;

/** Emails before money runs out: low balances, and budgets at 50, 80 and 100 %. Each is sent once. */
@Injectable()
export class BillingAlerts {
  constructor(
    private readonly database: Database,
    private readonly mails: BillingMails,
    private readonly logger: Logger,
  ) {}

  @RepeatingJob({ name: 'billing-alerts', cron: '30 * * * * *' })
  async checkAll(): Promise<void> {
    await this.checkLowBalances();
    await this.checkBudgets();
  }

  /** Warns each time a balance falls below its limit; the next warning requires that it rose above the limit first. */
  private async checkLowBalances(): Promise<void> {
    const balance = `(w.limit_nano - coalesce((SELECT r.limit_nano FROM spending_rule r
      WHERE r.kind = 'wallet' AND r.owner_id = a.wallet_id), 0) - w.spent)`;
    await this.database.query(
      `UPDATE billing_account a SET low_balance_mailed_at = NULL FROM spending_window w
        WHERE w.kind = 'wallet' AND w.owner_id = a.wallet_id AND a.low_balance_mailed_at IS NOT NULL
          AND ${balance} >= a.low_balance_nano`,
    );
    const isLow = `w.kind = 'wallet' AND w.owner_id = a.wallet_id AND a.low_balance_mailed_at IS NULL
      AND ${balance} < a.low_balance_nano`;
    const lowBalances = await this.database.rows<
      TableRow<'billing_account', 'wallet_id'>
    >(`SELECT a.wallet_id FROM billing_account a, spending_window w, user_account u
        WHERE ${isLow} AND u.id = a.wallet_id AND u.status = 'active' AND NOT u.billing_exempt AND u.billing_type <> 'invoiced'
          AND ${acceptsNotices('u.id', 'balance')}
          AND EXISTS (SELECT FROM payment p WHERE p.wallet_id = a.wallet_id AND p.state = 'paid')
        ORDER BY a.wallet_id LIMIT ${BATCH_SIZE}`);
    const markSql = `UPDATE billing_account a SET low_balance_mailed_at = clock_timestamp() FROM spending_window w
      WHERE a.wallet_id = $1 AND ${isLow} RETURNING ${balance}::text AS balance, a.low_balance_mailed_at AS at`;
    for (const { walletId } of lowBalances) {
      await this.notify({ wallet: walletId }, async (tx) => {
        const [[row]] = await tx.query<[{ balance: string; at: Date }[], number]>(markSql, [walletId]);
        if (row !== undefined) await this.mails.lowBalance(walletId, BigInt(row.balance), row.at);
      });
    }
  }

  private async checkBudgets(): Promise<void> {
    // A rolling window loses old spending, and a limit can be raised: a threshold that is reached again alerts again.
    await this.database.query(
      `DELETE FROM budget_alert b USING spending_window w
        WHERE w.id = b.window_id AND w.spent::numeric * 100 < w.limit_nano::numeric * b.percent`,
    );
    const reachedRows = await this.database.rows<ReachedBudgetRow>(reachedBudgets, [PERCENTS]);
    for (const budget of reachedRows) {
      await this.notify({ window: budget.windowId }, (tx) => this.notifyBudget(tx, budget));
    }
  }

  /** Marks lower thresholds as notified, too. */
  private async notifyBudget(tx: Tx, { windowId, percent }: ReachedBudgetRow): Promise<void> {
    const marked = await tx.query<TableRow<'budget_alert', 'percent'>[]>(
      `INSERT INTO budget_alert (window_id, percent) SELECT $1, p FROM unnest($2::int[]) AS p
       ON CONFLICT DO NOTHING RETURNING percent`,
      [windowId, PERCENTS.filter((one) => one <= percent)],
    );
    if (!marked.some((mark) => mark.percent === percent)) return;
    for (const row of await readRows<RecipientRow>(tx, recipientsOfBudget, [windowId])) {
      await this.mails.budget(
        { email: row.email, name: row.displayName, language: row.preferredLanguage },
        {
          kind: row.kind,
          name: row.what,
          period: row.period,
          percent,
          spent: BigInt(row.spent),
          limit: BigInt(row.limitNano),
        },
        `budget-${windowId}-${percent}-${row.userId}-${Date.now()}`,
      );
    }
  }

  /** Emails are queued before they count as sent; a notice that fails is retried at the next run. */
  private async notify(context: Record<string, unknown>, work: (tx: Tx) => Promise<void>): Promise<void> {
    await this.database
      .transaction(work, { withoutActivity: 'a notice changes nothing' })
      .catch((error: unknown) => this.logger.warn('a notice is put off', { error, ...context }));
  }
}
