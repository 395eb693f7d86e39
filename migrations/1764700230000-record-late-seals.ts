import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An incident may be that entries of the activity log are not sealed. */
export class RecordLateSeals1764700230000 implements MigrationInterface {
  readonly name = 'RecordLateSeals1764700230000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE incident DROP CONSTRAINT incident_kind_known,
        ADD CONSTRAINT incident_kind_known CHECK (kind IN ('lane', 'credential', 'errors', 'seal'));
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM incident WHERE kind = 'seal';
      ALTER TABLE incident DROP CONSTRAINT incident_kind_known,
        ADD CONSTRAINT incident_kind_known CHECK (kind IN ('lane', 'credential', 'errors'));
    `);
  }
}
