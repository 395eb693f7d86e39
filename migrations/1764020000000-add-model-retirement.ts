import type { MigrationInterface, QueryRunner } from 'typeorm';

/** From when a model is not served any more; people who use it are told beforehand. */
export class AddModelRetirement1764020000000 implements MigrationInterface {
  readonly name = 'AddModelRetirement1764020000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model ADD COLUMN retires_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model DROP COLUMN retires_at');
  }
}
