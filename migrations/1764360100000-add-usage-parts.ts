import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Work of a request that its supplier bills beside the answer: compactions, and the advice of another model. */
export class AddUsageParts1764360100000 implements MigrationInterface {
  readonly name = 'AddUsageParts1764360100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record ADD COLUMN parts jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record DROP COLUMN parts');
  }
}
