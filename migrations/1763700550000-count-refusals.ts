import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How often a key was refused with which code, hour by hour: of refusals only some are rows of their own. */
export class CountRefusals1763700550000 implements MigrationInterface {
  readonly name = 'CountRefusals1763700550000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE refusal_hour (
        key_id bigint      NOT NULL,
        hour   timestamptz NOT NULL,
        code   text        NOT NULL,
        count  bigint      NOT NULL,
        CONSTRAINT refusal_hour_pkey PRIMARY KEY (key_id, hour, code)
      );
      CREATE INDEX refusal_hour_by_hour ON refusal_hour USING brin (hour);
      GRANT SELECT, INSERT, UPDATE, DELETE ON refusal_hour TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE refusal_hour');
  }
}
