import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An operator can correct a vendor's facts of a model, and name the known model behind a lane. */
export class AddVendorFacts1764360000000 implements MigrationInterface {
  readonly name = 'AddVendorFacts1764360000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE model ADD COLUMN facts jsonb NOT NULL DEFAULT '{}'
        CONSTRAINT model_facts_object CHECK (jsonb_typeof(facts) = 'object')`);
    await runner.query('ALTER TABLE lane ADD COLUMN facts text');
    await runner.query(`
      ALTER TABLE lane ADD COLUMN wire text
        CONSTRAINT lane_wire_known CHECK (wire IN ('chat', 'responses'))`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE lane DROP COLUMN wire, DROP COLUMN facts');
    await runner.query('ALTER TABLE model DROP COLUMN facts');
  }
}
