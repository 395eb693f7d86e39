import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Days are summed again, by the model that served: until then they are read from their hours. */
export class ResumUsageByServedModel1765001000000 implements MigrationInterface {
  readonly name = 'ResumUsageByServedModel1765001000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM usage_day_merged');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM usage_day_merged');
  }
}
