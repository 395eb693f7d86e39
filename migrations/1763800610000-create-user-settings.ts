import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a person chose for their own pages and mails. Without a row everything is as usual. */
export class CreateUserSettings1763800610000 implements MigrationInterface {
  readonly name = 'CreateUserSettings1763800610000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE user_setting (
        user_id       integer CONSTRAINT user_setting_pkey PRIMARY KEY
                      CONSTRAINT user_setting_user_fkey REFERENCES user_account ON DELETE CASCADE,
        closed_help   text[] NOT NULL DEFAULT '{}',
        muted_notices text[] NOT NULL DEFAULT '{}'
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON user_setting TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE user_setting');
  }
}
