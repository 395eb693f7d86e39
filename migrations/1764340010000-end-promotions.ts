import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the rest of a promotion was first taken back: what was held for requests then is taken once they have ended. */
export class EndPromotions1764340010000 implements MigrationInterface {
  readonly name = 'EndPromotions1764340010000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE promotion_credit ADD COLUMN ended_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE promotion_credit DROP COLUMN ended_at');
  }
}
