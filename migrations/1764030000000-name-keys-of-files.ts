import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A key that a gateway file keeps bears the name that the file gives it. */
export class NameKeysOfFiles1764030000000 implements MigrationInterface {
  readonly name = 'NameKeysOfFiles1764030000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_key ADD COLUMN file_name text
        CONSTRAINT api_key_file_name_text CHECK (length(file_name) BETWEEN 1 AND 63);
      CREATE UNIQUE INDEX api_key_file_name ON api_key (file_name) WHERE file_name IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_key DROP COLUMN file_name');
  }
}
