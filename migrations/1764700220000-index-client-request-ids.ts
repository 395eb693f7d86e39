import type { MigrationInterface, QueryRunner } from 'typeorm';

const index = 'request_record_by_client_id';
const definition =
  '(client_request_id, created_at DESC, request_id DESC) WHERE client_request_id IS NOT NULL';

/**
 * Requests by the id that their caller gave them. Built beside running traffic, partition by partition, so
 * outside a transaction; what an earlier try left unfinished is built anew.
 */
export class IndexClientRequestIds1764700220000 implements MigrationInterface {
  readonly name = 'IndexClientRequestIds1764700220000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE INDEX IF NOT EXISTS ${index} ON ONLY request_record ${definition}`);
    for (const partition of await withoutIndex(runner)) {
      const part = `${partition}_by_client_id`;
      await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${part}`);
      await runner.query(`CREATE INDEX CONCURRENTLY ${part} ON ${partition} ${definition}`);
      await runner.query(`ALTER INDEX ${index} ATTACH PARTITION ${part}`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX ${index}`);
  }
}

async function withoutIndex(runner: QueryRunner): Promise<string[]> {
  const rows = (await runner.query(
    `SELECT c.relname AS partition FROM pg_inherits p JOIN pg_class c ON c.oid = p.inhrelid
      WHERE p.inhparent = 'request_record'::regclass AND NOT EXISTS (
        SELECT FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid
         WHERE i.inhparent = $1::regclass AND x.indrelid = c.oid)
      ORDER BY c.relname`,
    [index],
  )) as { partition: string }[];
  return rows.map(({ partition }) => partition);
}
