import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How many requests took how long, in steps, beside the other sums of usage; and sums of whole days of the platform,
 * which a job makes from the hours. What was on record before has no steps.
 */
export class RollUpUsage1764040000000 implements MigrationInterface {
  readonly name = 'RollUpUsage1764040000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const part of [addedSteps, days, rights]) await runner.query(part);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE usage_day, usage_day_merged;
      ${tables.map((table) => `ALTER TABLE ${table} ${steps.map((step) => `DROP COLUMN ${step}`).join(', ')};`).join('\n')}
    `);
  }
}

const tables = ['usage_hour', 'usage_label_hour'];
const steps = Array.from({ length: 16 }, (_, step) => `latency_${step}`);
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
];

const addedSteps = tables
  .map(
    (table) =>
      `ALTER TABLE ${table} ${steps.map((step) => `ADD COLUMN ${step} integer NOT NULL DEFAULT 0`).join(', ')};`,
  )
  .join('\n');

/** A day whose mark is gone is read from its hours until it is summed again. */
const days = `
  CREATE TABLE usage_day (
    day       timestamptz NOT NULL,
    dimension text        NOT NULL,
    number    bigint,
    name      text,
    ${sums.map((sum) => `${sum} bigint NOT NULL,`).join(' ')}
    ${steps.map((step) => `${step} integer NOT NULL,`).join(' ')}
    CONSTRAINT usage_day_once UNIQUE NULLS NOT DISTINCT (dimension, day, number, name)
  );
  CREATE TABLE usage_day_merged (day timestamptz CONSTRAINT usage_day_merged_pkey PRIMARY KEY);
  CREATE INDEX usage_day_by_day ON usage_day (day);
`;

/** Labels are words of callers: the application forgets them together with the records they came from. */
const rights = `
  GRANT SELECT, DELETE ON usage_day TO switchboard_app;
  GRANT SELECT ON usage_day_merged TO switchboard_app;
`;
