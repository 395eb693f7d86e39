import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A key or its organisation decides what becomes of request fields that the gateway does not know. */
export class ChooseUnknownFields1765000000100 implements MigrationInterface {
  readonly name = 'ChooseUnknownFields1765000000100';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organisation ADD COLUMN unknown_fields text,
        ADD CONSTRAINT organisation_unknown_fields_known CHECK (unknown_fields IN ('drop', 'forward'));
      ALTER TABLE api_key ADD COLUMN unknown_fields text,
        ADD CONSTRAINT api_key_unknown_fields_known CHECK (unknown_fields IN ('drop', 'forward'));
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_key DROP COLUMN unknown_fields;
      ALTER TABLE organisation DROP COLUMN unknown_fields;
    `);
  }
}
