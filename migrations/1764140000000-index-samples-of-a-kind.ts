import type { MigrationInterface, QueryRunner } from 'typeorm';

const indexes = {
  quality_sample_of_a_kind: '(organisation_id, bucket, created_at DESC)',
  quality_sample_open_of: `(organisation_id) WHERE state IN ('waiting', 'replayed', 'judged')`,
};

/**
 * Every sampled answer asks how many scores its kind has, and how many samples wait. Built beside running traffic, so
 * outside a transaction; what an earlier try left unfinished is built anew.
 */
export class IndexSamplesOfAKind1764140000000 implements MigrationInterface {
  readonly name = 'IndexSamplesOfAKind1764140000000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const [index, definition] of Object.entries(indexes)) {
      await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`);
      await runner.query(`CREATE INDEX CONCURRENTLY ${index} ON quality_sample ${definition}`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const index of Object.keys(indexes)) await runner.query(`DROP INDEX ${index}`);
  }
}
