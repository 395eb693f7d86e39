import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The setting decides which model name an answer carries. A key's setting wins over its model's. */
export class NameModelsOfAnswers1764700200000 implements MigrationInterface {
  readonly name = 'NameModelsOfAnswers1764700200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE model ADD COLUMN answer_model text NOT NULL DEFAULT 'caller',
        ADD CONSTRAINT model_answer_model_known CHECK (answer_model IN ('caller', 'supplier'));
      ALTER TABLE api_key ADD COLUMN answer_model text,
        ADD CONSTRAINT api_key_answer_model_known CHECK (answer_model IN ('caller', 'supplier'));
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_key DROP COLUMN answer_model;
      ALTER TABLE model DROP COLUMN answer_model;
    `);
  }
}
