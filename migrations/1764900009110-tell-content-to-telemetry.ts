import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An organisation, or a person without one, lets spans hold what its calls ask and get. Keys are told of a change. */
export class TellContentToTelemetry1764900009110 implements MigrationInterface {
  readonly name = 'TellContentToTelemetry1764900009110';

  async up(runner: QueryRunner): Promise<void> {
    for (const table of tables)
      await runner.query(`
        ALTER TABLE ${table} ADD COLUMN telemetry_content boolean NOT NULL DEFAULT false;
        CREATE CONSTRAINT TRIGGER ${table}_content_changes_keys AFTER UPDATE OF telemetry_content ON ${table}
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
          WHEN (OLD.telemetry_content IS DISTINCT FROM NEW.telemetry_content)
          EXECUTE FUNCTION announce_key_change('${table}');
      `);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tables)
      await runner.query(`
        DROP TRIGGER ${table}_content_changes_keys ON ${table};
        ALTER TABLE ${table} DROP COLUMN telemetry_content;
      `);
  }
}

const tables = ['organisation', 'user_account'];
