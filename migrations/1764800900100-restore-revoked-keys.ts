import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Records who revoked a key and which status a restore gives back; the status is null if the key ended for good. */
export class RestoreRevokedKeys1764800900100 implements MigrationInterface {
  readonly name = 'RestoreRevokedKeys1764800900100';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_key
        ADD COLUMN revoked_by   integer
          CONSTRAINT api_key_revoked_by_fkey REFERENCES user_account ON DELETE SET NULL,
        ADD COLUMN revoked_from text,
        ADD CONSTRAINT api_key_revoked_from_known CHECK (revoked_from IN ('active', 'disabled')),
        ADD CONSTRAINT api_key_restored_once CHECK (revoked_from IS NULL OR status = 'revoked');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_key DROP COLUMN revoked_by, DROP COLUMN revoked_from');
  }
}
