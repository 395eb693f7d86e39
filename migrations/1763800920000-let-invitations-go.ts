import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An invitation goes with its organisation, and forgets a department that is no more. */
export class LetInvitationsGo1763800920000 implements MigrationInterface {
  readonly name = 'LetInvitationsGo1763800920000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE invite DROP CONSTRAINT invite_organisation_fkey, DROP CONSTRAINT invite_department_fkey;
      ALTER TABLE invite
        ADD CONSTRAINT invite_organisation_fkey FOREIGN KEY (organisation_id)
          REFERENCES organisation ON DELETE CASCADE,
        ADD CONSTRAINT invite_department_fkey FOREIGN KEY (organisation_id, department_id)
          REFERENCES department (organisation_id, id) ON DELETE SET NULL (department_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE invite DROP CONSTRAINT invite_organisation_fkey, DROP CONSTRAINT invite_department_fkey;
      ALTER TABLE invite
        ADD CONSTRAINT invite_organisation_fkey FOREIGN KEY (organisation_id) REFERENCES organisation,
        ADD CONSTRAINT invite_department_fkey FOREIGN KEY (organisation_id, department_id)
          REFERENCES department (organisation_id, id);
    `);
  }
}
