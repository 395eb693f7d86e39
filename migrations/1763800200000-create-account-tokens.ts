import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What accounts need to be opened and entered: tokens that work once, counted attempts, accepted terms. */
export class CreateAccountTokens1763800200000 implements MigrationInterface {
  readonly name = 'CreateAccountTokens1763800200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE account_token (
        token_hash bytea       CONSTRAINT account_token_pkey PRIMARY KEY,
        purpose    text        NOT NULL,
        user_id    integer     CONSTRAINT account_token_user_fkey REFERENCES user_account,
        data       jsonb       NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX account_token_by_user ON account_token (user_id, purpose);
      CREATE INDEX account_token_by_end ON account_token (expires_at);
      GRANT SELECT, INSERT, DELETE ON account_token TO switchboard_app;

      CREATE TABLE attempt_throttle (
        key_hash      bytea       CONSTRAINT attempt_throttle_pkey PRIMARY KEY,
        attempts      integer     NOT NULL,
        last_at       timestamptz NOT NULL,
        blocked_until timestamptz
      );
      CREATE INDEX attempt_throttle_by_time ON attempt_throttle (last_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON attempt_throttle TO switchboard_app;

      CREATE TABLE legal_acceptance (
        user_id     integer     NOT NULL CONSTRAINT legal_acceptance_user_fkey REFERENCES user_account,
        version     text        NOT NULL,
        accepted_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT legal_acceptance_pkey PRIMARY KEY (user_id, version)
      );
      GRANT SELECT, INSERT ON legal_acceptance TO switchboard_app;

      ALTER TABLE organisation ADD COLUMN sso_only boolean NOT NULL DEFAULT false;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organisation DROP COLUMN sso_only;
      DROP TABLE legal_acceptance, attempt_throttle, account_token;
    `);
  }
}
