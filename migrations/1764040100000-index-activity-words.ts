import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A right that is missing, an extension that is not there, one that the host does not allow. */
const UNAVAILABLE = new Set(['42501', '58P01', '0A000']);

/**
 * Words of the activity log. Where a database has no pg_trgm for us, searches go by time alone. Built beside running
 * traffic, so outside a transaction; what an earlier try left unfinished is built anew.
 */
export class IndexActivityWords1764040100000 implements MigrationInterface {
  readonly name = 'IndexActivityWords1764040100000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    try {
      await runner.query('CREATE EXTENSION IF NOT EXISTS pg_trgm');
    } catch (error) {
      if (UNAVAILABLE.has(String((error as { code?: unknown }).code))) return;
      throw error;
    }
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS activity_by_words');
    await runner.query(`CREATE INDEX CONCURRENTLY activity_by_words ON activity USING gin (
      (lower(actor_label || E'\\n' || coalesce(object_label, '') || E'\\n' || coalesce(object_id, ''))) gin_trgm_ops)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS activity_by_words');
  }
}
