import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The service works as switchboard_app, which owns nothing and may do only what later migrations grant it.
 * A role belongs to the whole server: another Switchboard database there may have created it already.
 */
export class CreateRoles1763700000000 implements MigrationInterface {
  readonly name = 'CreateRoles1763700000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DO $$
      BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'switchboard_app') THEN
          CREATE ROLE switchboard_app NOLOGIN;
        END IF;
      EXCEPTION
        WHEN duplicate_object OR unique_violation THEN NULL;
        WHEN insufficient_privilege THEN
          RAISE EXCEPTION 'The database user "%" may not create roles. Let an administrator run: '
            'CREATE ROLE switchboard_app NOLOGIN; GRANT switchboard_app TO "%" WITH ADMIN OPTION;',
            current_user, current_user;
      END $$;

      REVOKE CREATE ON SCHEMA public FROM PUBLIC;
      GRANT USAGE ON SCHEMA public TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('REVOKE USAGE ON SCHEMA public FROM switchboard_app');
  }
}
