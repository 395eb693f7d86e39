import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A person has two budgets: the monthly one of the platform (`user`) and the one of their organisation, with a period
 * of its own (`user_budget`). Of those set before, the organisation gets what it set last by the activity log, and what
 * is not monthly; the rest stays the platform's. Raises in force go along, so each limit stays what it was.
 */
export class PartBudgetsOfPeople1764800100000 implements MigrationInterface {
  readonly name = 'PartBudgetsOfPeople1764800100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ${knownKinds([...kinds, 'user_budget'])}
      CREATE TEMPORARY TABLE of_organisation ON COMMIT DROP AS
        SELECT r.owner_id, r.period, r.limit_nano FROM spending_rule r
         WHERE r.kind = 'user' AND r.limit_nano IS NOT NULL AND (r.period <> 'monthly' OR (
           SELECT a.action FROM activity a
            WHERE a.object_type = 'account' AND a.object_id = r.owner_id::text
              AND a.action IN ('user.monthly-budget-changed', 'user.billing-config-changed')
              AND a.changes ?| ARRAY['budget', 'budget_period']
            ORDER BY a.occurred_at DESC, a.id DESC LIMIT 1) = 'user.billing-config-changed');
      INSERT INTO spending_rule (kind, owner_id, period, limit_nano, changed_at)
        SELECT 'user_budget', owner_id, period, limit_nano, clock_timestamp() FROM of_organisation;
      UPDATE budget_raise b SET kind = 'user_budget' FROM of_organisation o
       WHERE b.kind = 'user' AND b.owner_id = o.owner_id;
      UPDATE spending_rule r SET period = 'monthly', limit_nano = NULL, changed_at = clock_timestamp()
        FROM of_organisation o WHERE r.kind = 'user' AND r.owner_id = o.owner_id;
    `);
  }

  /** The lower of two budgets remains. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TEMPORARY TABLE of_organisation ON COMMIT DROP AS
        SELECT o.owner_id, o.period, o.limit_nano FROM spending_rule o
          LEFT JOIN spending_rule p ON p.kind = 'user' AND p.owner_id = o.owner_id
         WHERE o.kind = 'user_budget' AND o.limit_nano IS NOT NULL
           AND (p.limit_nano IS NULL OR p.limit_nano > o.limit_nano);
      INSERT INTO spending_rule (kind, owner_id, period, limit_nano)
        SELECT 'user', owner_id, period, limit_nano FROM of_organisation
        ON CONFLICT (kind, owner_id) DO UPDATE SET period = excluded.period, limit_nano = excluded.limit_nano,
          changed_at = clock_timestamp();
      DELETE FROM escrow_slice s USING spending_window w WHERE w.id = s.window_id AND w.kind = 'user_budget';
      DELETE FROM spending_bucket b USING spending_window w WHERE w.id = b.window_id AND w.kind = 'user_budget';
      DELETE FROM budget_alert b USING spending_window w WHERE w.id = b.window_id AND w.kind = 'user_budget';
      DELETE FROM spending_window WHERE kind = 'user_budget';
      DELETE FROM budget_raise WHERE kind = 'user_budget';
      DELETE FROM spending_rule WHERE kind = 'user_budget';
      ${knownKinds(kinds)}
    `);
  }
}

const kinds = ['key', 'project', 'department', 'user', 'organisation', 'wallet', 'key_model'];

const knownKinds = (names: readonly string[]): string => `
  ALTER TABLE spending_rule DROP CONSTRAINT spending_rule_kind_known, ADD CONSTRAINT spending_rule_kind_known
    CHECK (kind IN (${names.map((name) => `'${name}'`).join(', ')}));`;
