import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Fees of extensions stand in the record with the terms that they were charged by. */
export class RecordSurcharges1764801000400 implements MigrationInterface {
  readonly name = 'RecordSurcharges1764801000400';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record ADD COLUMN surcharges jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record DROP COLUMN surcharges');
  }
}
