import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What of a request or its answer did not survive a translation: names of fields, and how often. */
export class AddDroppedFields1763700410000 implements MigrationInterface {
  readonly name = 'AddDroppedFields1763700410000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record ADD COLUMN dropped jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record DROP COLUMN dropped');
  }
}
