import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Refunds one by one: a bank may refuse one days later, and the money is the customer's credit again. */
export class KeepFailedRefunds1764030200000 implements MigrationInterface {
  readonly name = 'KeepFailedRefunds1764030200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE processor_refund (
        refund_id         text   CONSTRAINT processor_refund_pkey PRIMARY KEY,
        payment_intent_id text   NOT NULL,
        amount_cents      bigint NOT NULL,
        state             text   NOT NULL,
        CONSTRAINT processor_refund_state_known CHECK (state IN ('made', 'failed'))
      );
      CREATE INDEX processor_refund_by_intent ON processor_refund (payment_intent_id);
      ALTER TABLE payment ADD COLUMN failed_refund_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT payment_failed_refunds CHECK (failed_refund_cents >= 0);
      GRANT SELECT, INSERT, UPDATE ON processor_refund TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payment DROP COLUMN failed_refund_cents; DROP TABLE processor_refund;');
  }
}
