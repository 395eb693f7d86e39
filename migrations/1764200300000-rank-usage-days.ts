import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The costliest groups of many days are found in an index alone, which also finds the days themselves. Days summed
 * before get the sums over all end users and over all tags that newer ones have.
 */
export class RankUsageDays1764200300000 implements MigrationInterface {
  readonly name = 'RankUsageDays1764200300000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX usage_day_by_day;
      INSERT INTO usage_day (day, dimension, ${sums.join(', ')})
      SELECT day, 'any_' || dimension, ${sums.map((sum) => `sum(${sum})`).join(', ')}
        FROM usage_day WHERE dimension IN ('end_user', 'tag') GROUP BY day, dimension;
      CREATE INDEX usage_day_costs ON usage_day (dimension, day) INCLUDE (number, name, cost_nano, requests);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX usage_day_costs;
      DELETE FROM usage_day WHERE dimension IN ('any_end_user', 'any_tag');
      CREATE INDEX usage_day_by_day ON usage_day (day);
    `);
  }
}

const sums = [
  'requests',
  'failures',
  'failovers',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'audio_tokens',
  'image_tokens',
  'image_output_tokens',
  'latency_ms',
  'first_token_ms',
  'first_tokens',
  'cost_nano',
  ...Array.from({ length: 16 }, (_, step) => `latency_${step}`),
];
