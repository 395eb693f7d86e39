import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The model that answers what is too long for another. */
export class AddModelOverflow1763700400000 implements MigrationInterface {
  readonly name = 'AddModelOverflow1763700400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE model
        ADD COLUMN overflow_to integer CONSTRAINT model_overflow_fkey REFERENCES model,
        ADD CONSTRAINT model_not_own_overflow CHECK (overflow_to <> id)
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model DROP COLUMN overflow_to');
  }
}
