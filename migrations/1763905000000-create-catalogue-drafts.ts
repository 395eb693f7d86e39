import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Files that were brought to the catalogue's page, between the look at what they change and the word to do it. */
export class CreateCatalogueDrafts1763905000000 implements MigrationInterface {
  readonly name = 'CreateCatalogueDrafts1763905000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE catalogue_draft (
        id         uuid        DEFAULT gen_random_uuid() CONSTRAINT catalogue_draft_pkey PRIMARY KEY,
        user_id    integer     NOT NULL CONSTRAINT catalogue_draft_user_fkey REFERENCES user_account ON DELETE CASCADE,
        format     text        NOT NULL CONSTRAINT catalogue_draft_format_known
                               CHECK (format IN ('gateway-yaml', 'litellm-prices', 'models-dev')),
        options    jsonb       NOT NULL,
        content    text        NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX catalogue_draft_user ON catalogue_draft (user_id, created_at DESC);
      GRANT SELECT, INSERT, DELETE ON catalogue_draft TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE catalogue_draft');
  }
}
