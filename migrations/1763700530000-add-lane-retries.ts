import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How often one lane is asked again for one request, and when the lanes of one provider open. */
export class AddLaneRetries1763700530000 implements MigrationInterface {
  readonly name = 'AddLaneRetries1763700530000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE lane
        ADD COLUMN retries smallint NOT NULL DEFAULT 0,
        ADD CONSTRAINT lane_retries_few CHECK (retries BETWEEN 0 AND 2)
    `);
    await runner.query(`ALTER TABLE provider ADD COLUMN breaker jsonb NOT NULL DEFAULT '{}'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE provider DROP COLUMN breaker');
    await runner.query('ALTER TABLE lane DROP COLUMN retries');
  }
}
