import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The administration's view of a session: the role it was opened with, and the organisation it is narrowed to. A role
 * that changed since does not match any more, so that the view ends by itself.
 */
export class AddAdminView1763800110000 implements MigrationInterface {
  readonly name = 'AddAdminView1763800110000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE session
        ADD COLUMN admin_role text,
        ADD COLUMN admin_organisation_id integer CONSTRAINT session_admin_organisation_fkey
          REFERENCES organisation ON DELETE SET NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session DROP COLUMN admin_role, DROP COLUMN admin_organisation_id');
  }
}
