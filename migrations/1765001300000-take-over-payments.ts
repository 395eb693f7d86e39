import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The currency of a dispute, and the customers whom the one of a wallet replaced: their checkouts can still be paid. */
export class TakeOverPayments1765001300000 implements MigrationInterface {
  readonly name = 'TakeOverPayments1765001300000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE processor_dispute ADD COLUMN currency text');
    await runner.query(
      `ALTER TABLE billing_account ADD COLUMN former_customers text[] NOT NULL DEFAULT '{}'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE billing_account DROP COLUMN former_customers');
    await runner.query('ALTER TABLE processor_dispute DROP COLUMN currency');
  }
}
