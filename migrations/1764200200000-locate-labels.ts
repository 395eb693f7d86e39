import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When within its hour the first and the last request of a label came: the log reads from one to the other instead of
 * the whole hour of a large key. Unknown of hours that were counted before, and for good.
 */
export class LocateLabels1764200200000 implements MigrationInterface {
  readonly name = 'LocateLabels1764200200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE usage_label_hour ADD COLUMN first_at timestamptz, ADD COLUMN last_at timestamptz',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE usage_label_hour DROP COLUMN first_at, DROP COLUMN last_at');
  }
}
