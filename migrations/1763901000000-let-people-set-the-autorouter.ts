import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A person may say how `auto` chooses for their requests: a level between the organisation and the key. */
export class LetPeopleSetTheAutorouter1763901000000 implements MigrationInterface {
  readonly name = 'LetPeopleSetTheAutorouter1763901000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE engine_setting
        ADD COLUMN user_id integer CONSTRAINT engine_setting_user_fkey
                                   REFERENCES user_account ON DELETE CASCADE,
        DROP CONSTRAINT engine_setting_once,
        DROP CONSTRAINT engine_setting_one_owner,
        ADD CONSTRAINT engine_setting_once UNIQUE NULLS NOT DISTINCT (engine, organisation_id, user_id, key_id),
        ADD CONSTRAINT engine_setting_one_owner CHECK (num_nonnulls(organisation_id, user_id, key_id) <= 1);
      CREATE INDEX engine_setting_by_user ON engine_setting (user_id);
      -- Absence means that a wider level decides.
      UPDATE engine_setting SET settings = settings - 'reference_model'
       WHERE engine = 'autorouter' AND settings->'reference_model' = 'null';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM engine_setting WHERE user_id IS NOT NULL;
      ALTER TABLE engine_setting
        DROP CONSTRAINT engine_setting_once,
        DROP CONSTRAINT engine_setting_one_owner,
        DROP COLUMN user_id,
        ADD CONSTRAINT engine_setting_once UNIQUE NULLS NOT DISTINCT (engine, organisation_id, key_id),
        ADD CONSTRAINT engine_setting_one_owner CHECK (num_nonnulls(organisation_id, key_id) <= 1);
    `);
  }
}
