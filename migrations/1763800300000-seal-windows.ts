import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What each window had spent when it was verified last, so that the next verification reads only later records. */
export class SealWindows1763800300000 implements MigrationInterface {
  readonly name = 'SealWindows1763800300000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE money_seal_window (
        window_id bigint      CONSTRAINT money_seal_window_pkey PRIMARY KEY
                              CONSTRAINT money_seal_window_fkey REFERENCES spending_window ON DELETE CASCADE,
        starts_at timestamptz NOT NULL,
        spent     bigint      NOT NULL
      );
      GRANT SELECT, INSERT, UPDATE ON money_seal_window TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE money_seal_window');
  }
}
