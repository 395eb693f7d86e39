import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A record keeps the verdicts of the gates that its request passed. */
export class KeepGateVerdicts1764801000100 implements MigrationInterface {
  readonly name = 'KeepGateVerdicts1764801000100';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record ADD COLUMN gates jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record DROP COLUMN gates');
  }
}
