import type { MigrationInterface, QueryRunner } from 'typeorm';

const indexes = [
  ['newest', '(created_at DESC, request_id DESC)'],
  ['session', '(session_key, created_at DESC, request_id DESC) WHERE session_key IS NOT NULL'],
  ['code', '(code, created_at DESC, request_id DESC) WHERE code IS NOT NULL'],
  ['failure', '(created_at DESC, request_id DESC) WHERE code IS NOT NULL'],
] as const;

/**
 * The request log of everybody, of one session, of one error code, and of failures. Built beside running traffic, partition by partition,
 * so outside a transaction; what an earlier try left unfinished is built anew.
 */
export class IndexRequestLog1763800701000 implements MigrationInterface {
  readonly name = 'IndexRequestLog1763800701000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const [what, definition] of indexes) {
      const whole = `request_record_by_${what}`;
      await runner.query(`CREATE INDEX IF NOT EXISTS ${whole} ON ONLY request_record ${definition}`);
      for (const partition of await withoutIndex(runner, whole)) {
        const part = `${partition}_by_${what}`;
        await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${part}`);
        await runner.query(`CREATE INDEX CONCURRENTLY ${part} ON ${partition} ${definition}`);
        await runner.query(`ALTER INDEX ${whole} ATTACH PARTITION ${part}`);
      }
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [what] of indexes) await runner.query(`DROP INDEX request_record_by_${what}`);
  }
}

async function withoutIndex(runner: QueryRunner, whole: string): Promise<string[]> {
  const rows = (await runner.query(
    `SELECT c.relname AS partition FROM pg_inherits p JOIN pg_class c ON c.oid = p.inhrelid
      WHERE p.inhparent = 'request_record'::regclass AND NOT EXISTS (
        SELECT FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid
         WHERE i.inhparent = $1::regclass AND x.indrelid = c.oid)
      ORDER BY c.relname`,
    [whole],
  )) as { partition: string }[];
  return rows.map(({ partition }) => partition);
}
