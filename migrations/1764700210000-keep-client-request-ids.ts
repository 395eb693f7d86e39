import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A caller's own id of a request, where it is no UUID and so not ours. */
export class KeepClientRequestIds1764700210000 implements MigrationInterface {
  readonly name = 'KeepClientRequestIds1764700210000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record ADD COLUMN client_request_id text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE request_record DROP COLUMN client_request_id');
  }
}
