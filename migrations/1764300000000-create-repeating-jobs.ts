import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When each repeating job is due, who runs it, and when it last succeeded. */
export class CreateRepeatingJobs1764300000000 implements MigrationInterface {
  readonly name = 'CreateRepeatingJobs1764300000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE repeating_job (
        name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 100),
        cron text NOT NULL,
        due_at timestamptz NOT NULL,
        -- Of the run that is under way; after its end in time another node may run it.
        claim uuid,
        claimed_until timestamptz,
        -- In a row.
        failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
        succeeded_at timestamptz,
        -- A success that has not come by then is told.
        succeed_by timestamptz NOT NULL,
        CHECK ((claim IS NULL) = (claimed_until IS NULL))
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON repeating_job TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE repeating_job');
  }
}
