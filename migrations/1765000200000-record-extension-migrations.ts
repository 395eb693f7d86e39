import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Lets the login of an extension record a migration that it runs, in the same transaction. The name of the extension
 * comes from the login, so an extension can write none of another.
 */
export class RecordExtensionMigrations1765000200000 implements MigrationInterface {
  readonly name = 'RecordExtensionMigrations1765000200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION contract.record_migration(p_name text, p_digest text) RETURNS void
        LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
        INSERT INTO public.extension_migration (extension, name, digest)
        SELECT replace(substring(session_user FROM '^extension_(.+)_[0-9a-f]{8}$'), '_', '-'), p_name, p_digest
      $$;
      REVOKE ALL ON FUNCTION contract.record_migration(text, text) FROM PUBLIC;
      COMMENT ON FUNCTION contract.record_migration(text, text) IS 'For the service, as it runs a migration.';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION contract.record_migration(text, text)');
  }
}
