import type { MigrationInterface, QueryRunner } from 'typeorm';

/** By what the lanes of one priority are chosen among. */
export class AddLaneOrder1763700420000 implements MigrationInterface {
  readonly name = 'AddLaneOrder1763700420000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE model
        ADD COLUMN lane_order text NOT NULL DEFAULT 'weight',
        ADD CONSTRAINT model_lane_order_known CHECK (lane_order IN ('weight', 'price', 'latency'))
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model DROP COLUMN lane_order');
  }
}
