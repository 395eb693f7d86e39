import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What people were told of, once an occasion. */
export class CreatePersonalNotices1763800620000 implements MigrationInterface {
  readonly name = 'CreatePersonalNotices1763800620000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE personal_notice (
        user_id  integer     NOT NULL CONSTRAINT personal_notice_user_fkey REFERENCES user_account ON DELETE CASCADE,
        topic    text        NOT NULL,
        occasion text        NOT NULL,
        facts    jsonb       NOT NULL DEFAULT '{}',
        told_at  timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT personal_notice_pkey PRIMARY KEY (user_id, topic, occasion)
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON personal_notice TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE personal_notice');
  }
}
