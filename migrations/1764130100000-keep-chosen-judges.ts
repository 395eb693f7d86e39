import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The judges that were chosen for organisations that name none. The oldest that fits a sample judges it, so that a new
 * model in the catalogue changes no judge.
 */
export class KeepChosenJudges1764130100000 implements MigrationInterface {
  readonly name = 'KeepChosenJudges1764130100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE quality_judge (
        organisation_id integer     NOT NULL
          CONSTRAINT quality_judge_organisation_fkey REFERENCES organisation ON DELETE CASCADE,
        model           text        NOT NULL,
        chosen_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT quality_judge_pkey PRIMARY KEY (organisation_id, model)
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON quality_judge TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE quality_judge');
  }
}
