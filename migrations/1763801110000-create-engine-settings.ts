import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How automatic routing and quality reports shall work: for the platform, an organisation or a key. Without a row the
 * wider one counts.
 */
export class CreateEngineSettings1763801110000 implements MigrationInterface {
  readonly name = 'CreateEngineSettings1763801110000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE engine_setting (
        engine          text    NOT NULL CONSTRAINT engine_setting_engine_known
                                CHECK (engine IN ('autorouter', 'qualitative')),
        organisation_id integer CONSTRAINT engine_setting_organisation_fkey
                                REFERENCES organisation ON DELETE CASCADE,
        key_id          integer CONSTRAINT engine_setting_key_fkey REFERENCES api_key ON DELETE CASCADE,
        settings        jsonb   NOT NULL,
        updated_at      timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT engine_setting_once UNIQUE NULLS NOT DISTINCT (engine, organisation_id, key_id),
        CONSTRAINT engine_setting_one_owner CHECK (num_nonnulls(organisation_id, key_id) <= 1)
      );
      CREATE INDEX engine_setting_by_organisation ON engine_setting (organisation_id);
      CREATE INDEX engine_setting_by_key ON engine_setting (key_id);
      GRANT SELECT, INSERT, UPDATE, DELETE ON engine_setting TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE engine_setting');
  }
}
