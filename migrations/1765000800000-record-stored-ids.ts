import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Ids of content that suppliers store in accounts which several keys share, for the key that was given them. */
export class RecordStoredIds1765000800000 implements MigrationInterface {
  readonly name = 'RecordStoredIds1765000800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE stored_id (
        key_id     integer     NOT NULL CONSTRAINT stored_id_key_fkey REFERENCES api_key ON DELETE CASCADE,
        id         text        NOT NULL,
        kind       text        NOT NULL,
        supplier   text        NOT NULL,
        given_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '30 days',
        CONSTRAINT stored_id_pkey PRIMARY KEY (key_id, id)
      );
      CREATE INDEX stored_id_by_expiry ON stored_id (expires_at);

      GRANT SELECT, INSERT, UPDATE, DELETE ON stored_id TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE stored_id');
  }
}
