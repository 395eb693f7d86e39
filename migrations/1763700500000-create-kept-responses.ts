import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Answers of /v1/responses, for a day and for the key that got them. Content is encrypted by the service before it
 * comes here; the ids are plain, so that they can be looked up.
 */
export class CreateKeptResponses1763700500000 implements MigrationInterface {
  readonly name = 'CreateKeptResponses1763700500000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE kept_response (
        key_id      integer     NOT NULL CONSTRAINT kept_response_key_fkey REFERENCES api_key ON DELETE CASCADE,
        response_id text        NOT NULL,
        kept_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires_at  timestamptz NOT NULL DEFAULT clock_timestamp() + interval '24 hours',
        bytes       bigint      NOT NULL,
        answer      bytea       NOT NULL,
        input       bytea,
        CONSTRAINT kept_response_pkey PRIMARY KEY (key_id, response_id)
      );
      CREATE INDEX kept_response_by_age ON kept_response (key_id, kept_at DESC) INCLUDE (bytes);
      CREATE INDEX kept_response_by_expiry ON kept_response (expires_at);
      -- Which kept answer has an item: a plain index finds it however many answers a key has.
      CREATE TABLE kept_response_item (
        key_id      integer NOT NULL,
        item_id     text    NOT NULL,
        response_id text    NOT NULL,
        CONSTRAINT kept_response_item_pkey PRIMARY KEY (key_id, item_id),
        CONSTRAINT kept_response_item_response_fkey FOREIGN KEY (key_id, response_id) REFERENCES kept_response
          ON DELETE CASCADE
      );
      CREATE INDEX kept_response_item_by_response ON kept_response_item (key_id, response_id);
      -- What is encrypted does not get any smaller.
      ALTER TABLE kept_response ALTER COLUMN answer SET STORAGE EXTERNAL;
      ALTER TABLE kept_response ALTER COLUMN input SET STORAGE EXTERNAL;

      GRANT SELECT, INSERT, UPDATE, DELETE ON kept_response, kept_response_item TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE kept_response_item, kept_response');
  }
}
