import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What was asked under an idempotency key, for a day. The key and the request are there as keyed hashes only, the
 * answer is encrypted by the service before it comes here.
 */
export class CreateIdempotentAnswers1763700320000 implements MigrationInterface {
  readonly name = 'CreateIdempotentAnswers1763700320000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE idempotent_answer (
        claim         uuid        CONSTRAINT idempotent_answer_pkey PRIMARY KEY,
        key_id        integer     NOT NULL CONSTRAINT idempotent_answer_key_fkey REFERENCES api_key ON DELETE CASCADE,
        key_hash      bytea       NOT NULL,
        request_hash  bytea       NOT NULL,
        request_id    uuid        NOT NULL,
        state         text        NOT NULL DEFAULT 'running',
        claimed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
        leased_until  timestamptz NOT NULL,
        expires_at    timestamptz NOT NULL DEFAULT clock_timestamp() + interval '24 hours',
        master_key_id text,
        wrapped_key   bytea,
        nonce         bytea,
        ciphertext    bytea,
        CONSTRAINT idempotent_answer_once UNIQUE (key_id, key_hash),
        CONSTRAINT idempotent_answer_state_known CHECK (state IN ('running', 'answered', 'unkept')),
        CONSTRAINT idempotent_answer_whole CHECK
          (num_nonnulls(master_key_id, wrapped_key, nonce, ciphertext) = CASE state WHEN 'answered' THEN 4 ELSE 0 END)
      );
      CREATE INDEX idempotent_answer_by_expiry ON idempotent_answer (expires_at);
      -- What is encrypted does not get any smaller.
      ALTER TABLE idempotent_answer ALTER COLUMN ciphertext SET STORAGE EXTERNAL;

      GRANT SELECT, INSERT, UPDATE, DELETE ON idempotent_answer TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotent_answer');
  }
}
