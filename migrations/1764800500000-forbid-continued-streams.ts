import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether a stream that broke off may go on at another lane: its model or its key may forbid it. */
export class ForbidContinuedStreams1764800500000 implements MigrationInterface {
  readonly name = 'ForbidContinuedStreams1764800500000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE model ADD COLUMN continue_streams text NOT NULL DEFAULT 'on',
        ADD CONSTRAINT model_continue_streams_known CHECK (continue_streams IN ('on', 'off'));
      ALTER TABLE api_key ADD COLUMN continue_streams text,
        ADD CONSTRAINT api_key_continue_streams_known CHECK (continue_streams IN ('on', 'off'));
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_key DROP COLUMN continue_streams;
      ALTER TABLE model DROP COLUMN continue_streams;
    `);
  }
}
