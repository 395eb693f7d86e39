import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What suppliers bill beside tokens of text: fees by the use, service tiers, pictures by size. A price holds them as
 * decimal texts of nano-USD; a request record holds what was used of them.
 */
export class AddPriceFees1763700510000 implements MigrationInterface {
  readonly name = 'AddPriceFees1763700510000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE price
        ADD COLUMN image_output bigint,
        ADD COLUMN fees         jsonb NOT NULL DEFAULT '{}',
        DROP CONSTRAINT price_not_negative,
        ADD CONSTRAINT price_not_negative CHECK
          (least(input, output, cache_read, cache_write, cache_write_long, reasoning, audio_input, audio_output,
            image, image_output, per_call, per_minute) >= 0);
      ALTER TABLE request_record
        ADD COLUMN image_output_tokens integer NOT NULL DEFAULT 0,
        ADD COLUMN uses                jsonb,
        ADD COLUMN modes               jsonb,
        ADD COLUMN images              jsonb;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE request_record
        DROP COLUMN images, DROP COLUMN modes, DROP COLUMN uses, DROP COLUMN image_output_tokens;
      ALTER TABLE price
        DROP CONSTRAINT price_not_negative,
        DROP COLUMN fees,
        DROP COLUMN image_output,
        ADD CONSTRAINT price_not_negative CHECK
          (least(input, output, cache_read, cache_write, cache_write_long, reasoning, audio_input, audio_output,
            image, per_call, per_minute) >= 0);
    `);
  }
}
