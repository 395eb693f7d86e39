import { Injectable } from '@nestjs/common';
import type { BudgetPeriod } from '../../kernel';
import { Database, Logger, readRows, RepeatingJob, type Row, type Tx } from '../../platform';
import { BillingMails, type BudgetNotice } from './billing-mails';

const AT_ONCE = 200;
const MOST_RECIPIENTS = 1_000;
const PERCENTS = [100, 80, 50];

type ReachedBudget = Row<'budget_alert', 'window_id, percent'>;

type RecipientRow = Row<'spending_window', 'spent, limit_nano'> &
  Row<'user_account', 'email, display_name, preferred_language'> & {
    readonly kind: BudgetNotice['kind'];
    readonly what: string | null;
    readonly period: BudgetPeriod;
    readonly userId: number;
  };

/** The condition holds for persons who receive notices of the topic. */
const wants = (userId: string, topic: 'budget' | 'balance'): string =>
  `NOT EXISTS (SELECT FROM user_setting s WHERE s.user_id = ${userId} AND '${topic}' = ANY (s.muted_notices))`;

/** The current windows with the highest threshold (50, 80, 100 per cent) that each has reached, if it is not told. */
const reachedBudgets = `
  SELECT r.window_id, r.percent FROM (
    SELECT w.id AS window_id,
           (SELECT max(p) FROM unnest($1::int[]) AS p WHERE w.spent::numeric * 100 >= w.limit_nano::numeric * p) AS percent
      FROM spending_window w
     WHERE w.kind <> 'wallet' AND w.limit_nano > 0 AND w.ends_at > now() AND w.spent * 2 >= w.limit_nano
       AND EXISTS (SELECT FROM spending_rule r WHERE r.kind = w.kind AND r.owner_id = w.owner_id
             AND r.period = w.period AND r.limit_nano IS NOT NULL)) AS r
   WHERE NOT EXISTS (SELECT FROM budget_alert b WHERE b.window_id = r.window_id AND b.percent = r.percent)
   ORDER BY r.window_id LIMIT ${AT_ONCE}`;

/** The owner, the payer of a project, the heads of a department, or the owners of an organisation. */
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
    JOIN user_account u ON u.id = o.user_id AND u.status = 'active' AND ${wants('u.id', 'budget')}
   WHERE r.id = $1 ORDER BY u.id LIMIT ${MOST_RECIPIENTS}`;

/** Mails before money runs out: low balances, and budgets at 50, 80 and 100 per cent. Each is sent once. */
@Injectable()
export class BillingAlerts {
  constructor(
    private readonly database: Database,
    private readonly mails: BillingMails,
    private readonly logger: Logger,
  ) {}

  @RepeatingJob({ name: 'billing-alerts', cron: '30 * * * * *' })
  async look(): Promise<void> {
    await this.lowBalances();
    await this.budgets();
  }

  /** It warns once each time that a balance falls below its limit; rising above it makes the next warning due. */
  private async lowBalances(): Promise<void> {
    const balance = `(w.limit_nano - coalesce((SELECT r.limit_nano FROM spending_rule r
      WHERE r.kind = 'wallet' AND r.owner_id = a.wallet_id), 0) - w.spent)`;
    await this.database.query(
      `UPDATE billing_account a SET low_balance_mailed_at = NULL FROM spending_window w
        WHERE w.kind = 'wallet' AND w.owner_id = a.wallet_id AND a.low_balance_mailed_at IS NOT NULL
          AND ${balance} >= a.low_balance_nano`,
    );
    const isLow = `w.kind = 'wallet' AND w.owner_id = a.wallet_id AND a.low_balance_mailed_at IS NULL
      AND ${balance} < a.low_balance_nano`;
    const low = await this.database.rows<
      Row<'billing_account', 'wallet_id'>
    >(`SELECT a.wallet_id FROM billing_account a, spending_window w, user_account u
        WHERE ${isLow} AND u.id = a.wallet_id AND u.status = 'active' AND NOT u.billing_exempt AND u.billing_type <> 'invoiced'
          AND ${wants('u.id', 'balance')}
          AND EXISTS (SELECT FROM payment p WHERE p.wallet_id = a.wallet_id AND p.state = 'paid')
        ORDER BY a.wallet_id LIMIT ${AT_ONCE}`);
    const mark = `UPDATE billing_account a SET low_balance_mailed_at = clock_timestamp() FROM spending_window w
      WHERE a.wallet_id = $1 AND ${isLow} RETURNING ${balance}::text AS balance, a.low_balance_mailed_at AS at`;
    for (const { walletId } of low) {
      await this.notify({ wallet: walletId }, async (tx) => {
        const [[row]] = await tx.query<[{ balance: string; at: Date }[], number]>(mark, [walletId]);
        if (row !== undefined) await this.mails.lowBalance(walletId, BigInt(row.balance), row.at);
      });
    }
  }

  private async budgets(): Promise<void> {
    // A rolling window loses old spending, and a limit may be raised: a threshold that is reached again alerts again.
    await this.database.query(
      `DELETE FROM budget_alert b USING spending_window w
        WHERE w.id = b.window_id AND w.spent::numeric * 100 < w.limit_nano::numeric * b.percent`,
    );
    const reached = await this.database.rows<ReachedBudget>(reachedBudgets, [PERCENTS]);
    for (const budget of reached) {
      await this.notify({ window: budget.windowId }, (tx) => this.budget(tx, budget));
    }
  }

  /** Thresholds below the highest count as told, too. */
  private async budget(tx: Tx, { windowId, percent }: ReachedBudget): Promise<void> {
    const marked = await tx.query<Row<'budget_alert', 'percent'>[]>(
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

  /** The mails are queued before they count as sent. A notice that fails is tried again at the next run. */
  private async notify(about: Record<string, unknown>, work: (tx: Tx) => Promise<void>): Promise<void> {
    await this.database
      .transaction(work, { withoutActivity: 'a notice changes nothing' })
      .catch((error: unknown) => this.logger.warn('a notice is put off', { error, ...about }));
  }
}
