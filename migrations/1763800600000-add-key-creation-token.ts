import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The form that a key was made with: sent twice, it makes one key. */
export class AddKeyCreationToken1763800600000 implements MigrationInterface {
  readonly name = 'AddKeyCreationToken1763800600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_key ADD COLUMN creation_token uuid;
      CREATE UNIQUE INDEX api_key_creation_token ON api_key (creation_token) WHERE creation_token IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_key DROP COLUMN creation_token');
  }
}
