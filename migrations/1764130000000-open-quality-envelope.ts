import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The platform's settings of quality reports bound those of organisations from now on. What was stored there before
 * had no effect, and would now switch organisations off.
 */
export class OpenQualityEnvelope1764130000000 implements MigrationInterface {
  readonly name = 'OpenQualityEnvelope1764130000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE engine_setting SET settings = '{}'
       WHERE engine = 'qualitative' AND num_nonnulls(organisation_id, user_id, key_id) = 0;
    `);
  }

  async down(): Promise<void> {
    // What was there had no effect.
  }
}
