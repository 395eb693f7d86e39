import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A dispute may be raised, and won after it was lost: what was observed last stands. Events that never arrived are
 * read from the processor's list, up to where each mode was read. Saved ways of paying may stand in a wallet.
 */
export class FollowDisputes1764340000000 implements MigrationInterface {
  readonly name = 'FollowDisputes1764340000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE processor_dispute
        ADD COLUMN observed_at bigint NOT NULL DEFAULT 0,
        ADD COLUMN movements integer NOT NULL DEFAULT 0;
      CREATE TABLE processor_sweep (
        live_mode   boolean     CONSTRAINT processor_sweep_pkey PRIMARY KEY,
        swept_until timestamptz NOT NULL
      );
      GRANT SELECT, INSERT, UPDATE ON processor_sweep TO switchboard_app;
      ALTER TABLE payment_method ADD COLUMN wallet text;
      -- Refunds and disputes that belong to no payment of ours are facts to keep, and no question to an operator.
      UPDATE processor_event SET outcome = 'ignored'
        WHERE outcome = 'quarantined' AND problem = 'payment' AND payment_id IS NULL AND resolved_at IS NULL
          AND (type LIKE 'charge.%' OR type LIKE 'refund.%');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE payment_method DROP COLUMN wallet;
      DROP TABLE processor_sweep;
      ALTER TABLE processor_dispute DROP COLUMN movements, DROP COLUMN observed_at;
    `);
  }
}
