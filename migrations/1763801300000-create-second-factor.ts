import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One-time codes as a second factor of a password, and the recovery codes that stand in for a lost device. */
export class CreateSecondFactor1763801300000 implements MigrationInterface {
  readonly name = 'CreateSecondFactor1763801300000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE second_factor (
        user_id    integer     CONSTRAINT second_factor_pkey PRIMARY KEY
                               CONSTRAINT second_factor_user_fkey REFERENCES user_account,
        secret     bytea       NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        enabled_at timestamptz,
        last_step  bigint      NOT NULL DEFAULT 0
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON second_factor TO switchboard_app;

      CREATE TABLE recovery_code (
        user_id   integer NOT NULL CONSTRAINT recovery_code_user_fkey REFERENCES user_account,
        code_hash bytea   NOT NULL,
        CONSTRAINT recovery_code_pkey PRIMARY KEY (user_id, code_hash)
      );
      GRANT SELECT, INSERT, DELETE ON recovery_code TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE recovery_code, second_factor');
  }
}
