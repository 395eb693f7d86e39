import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A session is good on the host that it was made for. The host of earlier sessions is unknown, so all of them end,
 * with every sign-in under way. Nodes of the version before leave the column null, and null is good nowhere.
 */
export class KeepHostsOfSessions1764700100000 implements MigrationInterface {
  readonly name = 'KeepHostsOfSessions1764700100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE session ADD COLUMN host text;
      DELETE FROM session;
      DELETE FROM account_token WHERE purpose IN ('sso_handoff', 'provider_state', 'second_factor');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session DROP COLUMN host');
  }
}
