import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Passkeys (WebAuthn): a public key a device of a person, found by the credential id that the device names. */
export class CreatePasskeys1764010000000 implements MigrationInterface {
  readonly name = 'CreatePasskeys1764010000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE passkey (
        credential_id bytea       CONSTRAINT passkey_pkey PRIMARY KEY
                                  CONSTRAINT passkey_credential_check CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
        public_id     uuid        NOT NULL CONSTRAINT passkey_public_id_key UNIQUE,
        user_id       integer     NOT NULL CONSTRAINT passkey_user_fkey REFERENCES user_account,
        user_handle   bytea       NOT NULL,
        public_key    bytea       NOT NULL,
        sign_count    bigint      NOT NULL,
        transports    text[]      NOT NULL,
        name          text        NOT NULL CONSTRAINT passkey_name_check CHECK (length(name) BETWEEN 1 AND 100),
        created_at    timestamptz NOT NULL DEFAULT now(),
        last_used_at  timestamptz
      );
      CREATE INDEX passkey_user ON passkey (user_id);
      GRANT SELECT, INSERT, UPDATE, DELETE ON passkey TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE passkey');
  }
}
