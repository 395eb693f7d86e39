import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A wallet under steady load has twenty settlements a second and a top-up a month: what is no settlement is found by an
 * index of its own. Days are summed once more, now by wallet as well.
 */
export class MarkPostings1764070000000 implements MigrationInterface {
  readonly name = 'MarkPostings1764070000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE ledger_entry ADD COLUMN is_posting boolean NOT NULL DEFAULT false;
      ALTER TABLE ledger_entry DISABLE TRIGGER ledger_entry_is_final;
      UPDATE ledger_entry e SET is_posting = true
        FROM ledger_transaction t WHERE t.id = e.transaction_id AND t.kind <> 'settlement';
      ALTER TABLE ledger_entry ENABLE TRIGGER ledger_entry_is_final;
      CREATE INDEX ledger_entry_posting ON ledger_entry (account_id, transaction_id) INCLUDE (amount) WHERE is_posting;
      DELETE FROM usage_day_merged;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE ledger_entry DROP COLUMN is_posting');
  }
}
