import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What an operator knows better than the vendor's ceilings: the most tokens of a picture, a document and so on. */
export class AddModelBounds1763700540000 implements MigrationInterface {
  readonly name = 'AddModelBounds1763700540000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE model
        ADD COLUMN bounds jsonb NOT NULL DEFAULT '{}',
        ADD CONSTRAINT model_bounds_object CHECK (jsonb_typeof(bounds) = 'object')
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model DROP COLUMN bounds');
  }
}
