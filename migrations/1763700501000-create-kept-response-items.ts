import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which kept answer has an item. A plain index finds it however many answers a key has; an index over lists of ids is
 * left aside by the planner until the table was analysed.
 */
export class CreateKeptResponseItems1763700501000 implements MigrationInterface {
  readonly name = 'CreateKeptResponseItems1763700501000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE kept_response_item (
        key_id      integer NOT NULL,
        item_id     text    NOT NULL,
        response_id text    NOT NULL,
        CONSTRAINT kept_response_item_pkey PRIMARY KEY (key_id, item_id),
        CONSTRAINT kept_response_item_response_fkey FOREIGN KEY (key_id, response_id) REFERENCES kept_response
          ON DELETE CASCADE
      );
      CREATE INDEX kept_response_item_by_response ON kept_response_item (key_id, response_id);

      INSERT INTO kept_response_item (key_id, item_id, response_id)
      SELECT DISTINCT ON (key_id, item_id) key_id, item_id, response_id
        FROM kept_response, unnest(item_ids) AS item_id ORDER BY key_id, item_id, kept_at DESC;
      DROP INDEX kept_response_by_item;
      ALTER TABLE kept_response DROP COLUMN item_ids;

      GRANT SELECT, INSERT, UPDATE, DELETE ON kept_response_item TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE kept_response ADD COLUMN item_ids text[] NOT NULL DEFAULT '{}';
      UPDATE kept_response kept SET item_ids = ARRAY(
        SELECT item_id FROM kept_response_item item
         WHERE (item.key_id, item.response_id) = (kept.key_id, kept.response_id));
      ALTER TABLE kept_response ALTER COLUMN item_ids DROP DEFAULT;
      CREATE INDEX kept_response_by_item ON kept_response USING gin (item_ids) WITH (fastupdate = off);
      DROP TABLE kept_response_item;
    `);
  }
}
