import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Why `auto` chose the model it chose, beside the record of the request; which model a conversation has. */
export class KeepAutoDecisions1763901200000 implements MigrationInterface {
  readonly name = 'KeepAutoDecisions1763901200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE request_record ADD COLUMN auto_decision jsonb;
      CREATE TABLE autorouter_session (
        key_id        integer NOT NULL CONSTRAINT autorouter_session_key_fkey REFERENCES api_key ON DELETE CASCADE,
        session_hash  bytea   NOT NULL,
        model         text    NOT NULL,
        since         timestamptz NOT NULL DEFAULT now(),
        cached_tokens integer NOT NULL,
        expires_at    timestamptz NOT NULL,
        CONSTRAINT autorouter_session_pkey PRIMARY KEY (key_id, session_hash)
      );
      CREATE INDEX autorouter_session_by_expiry ON autorouter_session (expires_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON autorouter_session TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE autorouter_session;
      ALTER TABLE request_record DROP COLUMN auto_decision;
    `);
  }
}
