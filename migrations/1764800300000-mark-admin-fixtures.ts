import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A model for trying the administration is marked as one: its owner's name, which pages change, told it until now. */
export class MarkAdminFixtures1764800300000 implements MigrationInterface {
  readonly name = 'MarkAdminFixtures1764800300000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE model ADD COLUMN fixture boolean NOT NULL DEFAULT false;
      UPDATE model SET fixture = true WHERE owned_by = 'admin-fixture';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model DROP COLUMN fixture');
  }
}
