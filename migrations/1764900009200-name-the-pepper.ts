import type { MigrationInterface, QueryRunner } from 'typeorm';

/** It says under which pepper keys are hashed, by a name that tells nothing of it. The next start writes it. */
export class NameThePepper1764900009200 implements MigrationInterface {
  readonly name = 'NameThePepper1764900009200';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE key_revision ADD COLUMN pepper_name text;
      GRANT UPDATE (pepper_name) ON key_revision TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE key_revision DROP COLUMN pepper_name');
  }
}
