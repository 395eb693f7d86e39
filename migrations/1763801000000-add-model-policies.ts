import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which models an organisation lets its members use, by patterns, and the platform's refusal of a model that is open to
 * everybody else. Both are read with the catalogue, so that a request asks no database for them.
 */
export class AddModelPolicies1763801000000 implements MigrationInterface {
  readonly name = 'AddModelPolicies1763801000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE model_policy (
        organisation_id integer CONSTRAINT model_policy_pkey PRIMARY KEY
                                CONSTRAINT model_policy_organisation_fkey REFERENCES organisation ON DELETE CASCADE,
        mode            text    NOT NULL CONSTRAINT model_policy_mode_known CHECK (mode IN ('all', 'allow', 'deny')),
        patterns        text[]  NOT NULL DEFAULT '{}'
      );
      CREATE TRIGGER model_policy_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON model_policy
        FOR EACH STATEMENT EXECUTE FUNCTION announce_catalogue_change();
      GRANT SELECT, INSERT, UPDATE, DELETE ON model_policy TO switchboard_app;

      ALTER TABLE model_organisation_access ADD COLUMN denied boolean NOT NULL DEFAULT false;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model_organisation_access DROP COLUMN denied; DROP TABLE model_policy');
  }
}
