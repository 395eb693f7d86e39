import type { MigrationInterface, QueryRunner } from 'typeorm';

const versioned = ['user_account', 'organisation', 'department', 'project'];

/** What the administration needs of people: versions that tell of concurrent edits, and how somebody is billed. */
export class AddAdministrationOfPeople1763800900000 implements MigrationInterface {
  readonly name = 'AddAdministrationOfPeople1763800900000';

  async up(runner: QueryRunner): Promise<void> {
    for (const table of versioned) {
      await runner.query(`ALTER TABLE ${table} ADD COLUMN version integer NOT NULL DEFAULT 1`);
    }
    await runner.query(`
      ALTER TABLE user_account ADD COLUMN billing_type text NOT NULL DEFAULT 'prepaid'
        CONSTRAINT user_account_billing_type_known CHECK (billing_type IN ('prepaid', 'invoiced', 'delegated'));
      CREATE INDEX user_account_by_department ON user_account (department_id);
      CREATE INDEX project_member_by_user ON project_member (user_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX project_member_by_user, user_account_by_department;
      ALTER TABLE user_account DROP COLUMN billing_type;
    `);
    for (const table of versioned) await runner.query(`ALTER TABLE ${table} DROP COLUMN version`);
  }
}
