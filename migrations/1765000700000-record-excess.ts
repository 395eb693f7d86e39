import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Usage that a supplier reported beyond the request or its hold is kept for an operator, and not charged. */
export class RecordExcess1765000700000 implements MigrationInterface {
  readonly name = 'RecordExcess1765000700000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record ADD COLUMN excess jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record DROP COLUMN excess');
  }
}
